#include "search/bounds.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "core/parallel.h"
#include "plan/schedule.h"

namespace plait {
namespace {

/// Layouts that a thread looks through at a time.
constexpr std::size_t kKeysAtOnce = 8192;

/// Enters into a table the keys of n layouts that are not there: keys_of(i, add) calls add(key,
/// layout) for each of the i-th. Returns the new entries, each with a layout that it is of, in
/// order.
template <class Map, class KeysOf>
auto enter(Map& table, std::size_t n, int threads, KeysOf&& keys_of) {
  using Key = typename Map::key_type;
  std::vector<std::vector<std::pair<Key, Layout>>> fresh(piece_count(n, kKeysAtOnce));
  in_pieces(n, kKeysAtOnce, threads, [&](std::size_t p, std::size_t begin, std::size_t end) {
    std::unordered_set<Key, TupleHash> seen;
    std::optional<Key> last;  // neighbours mostly have the same
    const auto add = [&](const Key& key, const Layout& layout) {
      if (last == key) return;
      last = key;
      if (!table.contains(key) && seen.insert(key).second) fresh[p].emplace_back(key, layout);
    };
    for (std::size_t i = begin; i < end; ++i) keys_of(i, add);
  });
  std::vector<std::pair<Layout, typename Map::mapped_type*>> out;
  for (const auto& piece : fresh) {
    for (const auto& [key, layout] : piece) {
      const auto [at, is_new] = table.try_emplace(key);
      if (is_new) out.emplace_back(layout, &at->second);
    }
  }
  return out;
}

}  // namespace

Bounds::Bounds(const Scenario& scenario, const CostModel& costs)
    : scenario_(scenario),
      costs_(costs),
      most_memory_(most_memory(scenario.cluster)),
      kinds_(scenario.model),
      groups_(scenario.cluster, scenario.placement.empty()) {}

Bytes most_memory(const Cluster& cluster) {
  Bytes out;
  for (std::size_t k = 0; k < cluster.kinds(); ++k) {
    out = std::max(out, cluster.kind(k).device.memory);
  }
  return out;
}

std::optional<LowerBound> Bounds::operator()(const Layout& layout) const {
  const std::optional<PipelineCosts> costs = stages(layout);
  if (!costs) return std::nullopt;
  const Bytes least = memory(*costs);
  if (least > most_memory_) return LowerBound{0, least};
  return LowerBound{std::max(step(*costs), slowest_stage(layout)), least};
}

SimTime Bounds::closer(const Layout& l) const {
  const PipelineCosts s = *stages(l);
  if (s.places.both_ways()) return 0;
  if (s.microbatches * s.pieces.count > kMostTasks) return 0;
  const StepRules rules = {scenario_.workload.gradient_clipping, scenario_.strategy.data.overlap};
  return walk_passes(s, *schedules_.of(l, s.microbatches, scenario_.strategy.pipeline.profile),
                     rules);
}

Layout Bounds::plain(Layout l) {
  if (l.recompute_layers >= 0) l.recompute = Recompute::kNone;
  return l;
}

/// On nodes of that kind, or on any.
const ShardCosts* Bounds::find(const Layout& l, std::optional<std::size_t> kind) const {
  const std::optional<ShardCostsByKind>& all = shards_.at(shard_key(l));
  if (!all) return nullptr;
  return &choose(kind ? all->of_kind[*kind] : all->least, l);
}

/// Where nodes differ: all passes of a stage on the slowest kind that has ranks of it.
SimTime Bounds::slowest_stage(const Layout& l) const {
  const Cluster& cluster = scenario_.cluster;
  SimTime out = 0;
  if (cluster.kinds() == 1 || !groups_.in_order()) return out;
  const std::int64_t ranks = cluster.world_size() / l.pp;
  for (std::size_t k = 0; k < cluster.kinds(); ++k) {
    const PipelineCosts costs = *stages(l, k);
    for (std::int64_t s = 0; s < l.pp; ++s) {
      bool present = false;
      for (std::int64_t r = s * ranks; !present && r < (s + 1) * ranks;) {
        present = cluster.kind_of(r) == k;
        r += cluster.devices_per_node - r % cluster.devices_per_node;
      }
      if (present) out = std::max(out, costs.work(s));
    }
  }
  return out;
}

Bounds::ShardKey Bounds::shard_key(const Layout& l) {
  return {l.tp,
          l.cp,
          l.ep,
          l.sequence_parallel,
          l.recompute,
          l.micro_batch,
          splits_backward(l.schedule)};
}

Bounds::ExchangeKey Bounds::exchange_key(const Layout& l) {
  return {l.tp, l.cp, l.ep, l.dp, l.fsdp, l.zero_stage};
}

Bounds::MessageKey Bounds::message_key(const Layout& l, const ShardCosts& c) const {
  if (l.pp == 1) return {0, 0};
  return {scenario_.cluster.world_size() / l.pp, c.message.value};
}

std::optional<PipelineCosts> Bounds::stages(const Layout& l,
                                            std::optional<std::size_t> kind) const {
  const ShardCosts* again = find(l, kind);
  const ShardCosts* kept = l.recompute_layers < 0 ? again : find(plain(l), kind);
  if (again == nullptr || kept == nullptr) return std::nullopt;
  const std::int64_t ways = kind_of(l.schedule).shape == PipelineShape::kBothWays ? 2 : 1;
  const std::int64_t microbatches =
      scenario_.workload.global_batch / (l.replicas() * l.micro_batch) / ways;
  return PipelineCosts(l, *kept, *again, exchanges_.at(exchange_key(l)), kinds_, microbatches,
                       messages_.at(message_key(l, *kept)));
}

void Bounds::prepare(std::span<const Layout> layouts, int threads) {
  std::vector<std::uint32_t> all(layouts.size());
  std::iota(all.begin(), all.end(), 0U);
  prepare(layouts, all, threads);
}

void Bounds::prepare(std::span<const Layout> layouts, std::span<const std::uint32_t> numbers,
                     int threads) {
  const auto shards = enter(shards_, numbers.size(), threads, [&](std::size_t i, auto&& add) {
    const Layout& l = layouts[numbers[i]];
    add(shard_key(l), l);
    if (l.recompute_layers >= 0) add(shard_key(plain(l)), plain(l));
  });
  in_parallel(shards.size(), threads, [&](std::size_t i) {
    const auto& [layout, costs] = shards[i];
    *costs = shard_costs(scenario_.model, scenario_.workload, scenario_.strategy, layout, costs_,
                         groups_);
  });
  const auto exchanges = enter(exchanges_, numbers.size(), threads, [&](std::size_t i, auto&& add) {
    const Layout& l = layouts[numbers[i]];
    if (find(l) != nullptr) add(exchange_key(l), l);
  });
  in_parallel(exchanges.size(), threads, [&](std::size_t i) {
    const auto& [l, exchange] = exchanges[i];
    const ShardCosts& c = *find(l);
    const Sharers all = sharers_of(l);
    *exchange = {unit(all, c, c.embedding.parameters), unit(all, c, c.head.parameters), {}, {}};
    for (const std::size_t k : {kDenseLayer, kMoeLayer}) {
      const std::int64_t parameters = c.layers[k].parameters;
      if (parameters > 0) exchange->layers[k] = unit(all, c, parameters);
    }
    const std::int64_t experts = c.layers[kMoeLayer].experts;
    if (experts > 0) {
      exchange->experts = unit(sharers_of(l, scenario_.strategy.expert_axes), c, experts);
    }
  });
  const auto messages = enter(messages_, numbers.size(), threads, [&](std::size_t i, auto&& add) {
    const Layout& l = layouts[numbers[i]];
    const ShardCosts* c = find(plain(l));
    if (c != nullptr) add(message_key(l, *c), l);
  });
  in_parallel(messages.size(), threads, [&](std::size_t i) {
    const auto& [l, time] = messages[i];
    *time = priced_message(message_key(l, *find(plain(l))));
  });
}

SimTime Bounds::priced(CollectiveKind kind, DType dtype, std::int64_t elements, std::int64_t size,
                       std::int64_t stride) {
  if (size == 1 || !groups_.in_order()) return 0;
  Collective c;
  c.kind = kind, c.axes = Axis::kDp, c.dtype = dtype, c.elements = elements;
  SimTime out = std::numeric_limits<SimTime>::max();
  for (const GroupPlacement& g : groups_.of(size, stride)) {
    out = std::min(out, to_sim_time(costs_.collective(c, g, scenario_.cluster).cost.total()));
  }
  return out;
}

UnitCosts Bounds::unit(const Sharers& on, const ShardCosts& costs, std::int64_t parameters) {
  const Precision& p = scenario_.workload.precision;
  UnitCosts out;
  if (costs.update) {
    Adam adam = *costs.update;
    adam.elements = parameters / on.shards;
    out.update = std::numeric_limits<SimTime>::max();
    for (std::size_t k = 0; k < scenario_.cluster.kinds(); ++k) {
      const Device& device = scenario_.cluster.kind(k).device;
      out.update = std::min(out.update, to_sim_time(costs_.compute(adam, device).total()));
    }
  }
  if (on.copies == 1) return out;
  if (on.zero_stage > 0) {
    out.gather = priced(CollectiveKind::kAllGather, p.weights, parameters, on.shards, on.stride);
  }
  if (on.zero_stage >= 2) {
    out.reduce =
        priced(CollectiveKind::kReduceScatter, p.reduction, parameters, on.shards, on.stride);
    return out;
  }
  // Buckets hold less than one unit more than they are meant to; none moves its bytes faster.
  const std::int64_t bucket =
      parameters + scenario_.strategy.data.bucket.value / size_of(p.gradients);
  SimTime whole = 0;
  if (on.zero_stage == 0) {
    whole = priced(CollectiveKind::kAllReduce, p.reduction, bucket, on.copies, on.stride);
  } else {
    whole = priced(CollectiveKind::kReduceScatter, p.reduction, bucket, on.shards, on.stride) +
            priced(CollectiveKind::kAllReduce, p.reduction, bucket / on.shards,
                   on.copies / on.shards, on.shards * on.stride);
  }
  const double share = static_cast<double>(parameters) / static_cast<double>(bucket);
  out.reduce = static_cast<SimTime>(share * static_cast<double>(whole));
  return out;
}

SimTime Bounds::priced_message(MessageKey key) {
  const auto& [distance, bytes] = key;
  if (distance == 0 || !groups_.in_order()) return 0;
  SimTime out = std::numeric_limits<SimTime>::max();
  for (const Path& path : groups_.routes(distance)) {
    out = std::min(out, to_sim_time(costs_.transfer(Bytes(bytes), path).total()));
  }
  return out;
}

SimTime Bounds::step(const PipelineCosts& stages) const {
  const Layout& l = stages.l;
  const bool joined = scenario_.workload.gradient_clipping;
  const std::int64_t m = stages.microbatches;
  // Where nothing holds the stages together at the end of a step, those that split the backward
  // pass fill their first wait with the step before.
  const bool waits = !stages.split || joined;
  SimTime out = 0, passes = 0, update = 0;
  // Stages between the ends are alike; the last of them waits longest.
  for (const std::int64_t s : {std::int64_t{0}, std::int64_t{l.pp} - 2, std::int64_t{l.pp} - 1}) {
    if (s < 0) continue;
    const SimTime worked = (waits ? stages.fill(s) : 0) + stages.work(s);
    const SimTime own_update = stages.of_stage(s, &UnitCosts::update);
    passes = std::max(passes, worked + (stages.split ? 0 : stages.drain(s)));
    update = std::max(update, own_update);
    // What the stage's own exchanges end behind.
    SimTime exchanged = worked;
    if (l.zero_stage >= 2) {
      exchanged = std::max(exchanged, m * stages.of_stage(s, &UnitCosts::reduce));
    } else if (!scenario_.strategy.data.overlap) {
      exchanged += stages.of_stage(s, &UnitCosts::reduce);
    } else if (!stages.split) {
      // Gradients of its first piece are complete in the last backward pass.
      exchanged = std::max(exchanged,
                           worked - stages.backward(s) + stages.exchanged(s, &UnitCosts::reduce));
    }
    // Without a common end each unit is updated when its own gradient is there.
    out = std::max(out, joined ? exchanged + own_update : std::max(exchanged, worked + own_update));
    if (l.zero_stage == 3) {
      const std::int64_t n = stages.layers(s);
      const std::int64_t gathers = l.reshard  ? m * (2 * n - 2 * l.chunks)
                                   : l.pp > 1 ? n
                                              : m * (n - 1);
      const bool in_turn = !scenario_.strategy.zero_plus_plus.quantized_gradients;
      const SimTime each = stages.kinds.least(
          [&](std::size_t kind) { return stages.x.layer(kind, &UnitCosts::gather); });
      out = std::max(out,
                     gathers * each + (in_turn ? m * stages.of_stage(s, &UnitCosts::reduce) : 0));
    }
  }
  if (joined) return std::max(out, passes + update);
  // The first stage ends last, unless it is ahead of the others.
  return stages.split ? out : std::max(out, passes + stages.of_stage(0, &UnitCosts::update));
}

}  // namespace plait
