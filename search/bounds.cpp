#include "search/bounds.h"

#include <algorithm>
#include <iterator>

namespace plait {

Bounds::Bounds(const Scenario& scenario, const CostModel& costs)
    : scenario_(scenario),
      costs_(costs),
      fastest_(costs),
      kinds_(scenario.model, scenario.workload.lora,
             listed_pieces(scenario.strategy, scenario.model.layers)),
      order_(scenario),
      groups_(scenario.cluster, order_.known()),
      most_memory_(plait::most_memory(scenario.cluster)) {
  fastest_.selection = Selection::kFastest;
}

Bytes most_memory(const Cluster& cluster) {
  Bytes out;
  for (std::size_t k = 0; k < cluster.kinds(); ++k) {
    out = std::max(out, cluster.kind(k).device.memory);
  }
  return out;
}

Bounds::CutKey Bounds::cut_key(const Layout& l) {
  return {l.tp, l.cp, l.ep, l.sequence_parallel, l.recompute};
}

Bounds::ShardKey Bounds::shard_key(const Layout& l) {
  return {l.tp, l.cp, l.ep, l.sequence_parallel, l.recompute, l.micro_batch};
}

const std::optional<ShardCosts>* Bounds::shard(const Layout& l, LastFound<Shards>& recent) const {
  const auto* by_size = recent.find(shards_, cut_key(l));
  if (by_size == nullptr) return nullptr;
  const auto larger = by_size->upper_bound(l.micro_batch);
  return larger == by_size->begin() ? nullptr : &std::prev(larger)->second;
}

bool Bounds::is_planned(const Layout& l, LastFound<Shards>& recent) const {
  const auto* by_size = recent.find(shards_, cut_key(l));
  return by_size != nullptr && by_size->contains(l.micro_batch);
}

Bounds::ExchangeKey Bounds::exchange_key(const Layout& l) {
  return {l.tp, l.cp, l.ep, l.dp, l.fsdp, l.zero_stage};
}

Bounds::MessageKey Bounds::message_key(const Layout& l, const ShardSizes& sizes) const {
  if (l.pp == 1) return {0, 1, 0};
  return {order_.stride(l, Axis::kPp), l.pp, sizes.message.value};
}

std::optional<Bytes> Bounds::memory(const Layout& l, Recent& recent) const {
  const auto always = [](const Layout&, const Layout&) { return true; };
  MemoryOfShape& shape = recent.memory.of(l, always, [&](auto&& emplace) -> MemoryOfShape& {
    return emplace(Pieces(l, kinds_), sizes(l, recent));
  });
  if (!shape.sizes) return std::nullopt;
  return memory(l, shape);
}

bool Bounds::too_large(const Layout& l, Recent& recent) const {
  const std::optional<Bytes> least = memory(l, recent);
  return least && *least > most_memory_;
}

std::optional<SimTime> Bounds::step(const Layout& l, Recent& recent) const {
  LastShape<PassesOfShape>& last = writes(l) ? recent.writing : recent.adding;
  // Replicas between the stages, however they share, keep them apart.
  const auto as_far = [&](const Layout& a, const Layout& b) {
    return order_.stride(a, Axis::kPp) == order_.stride(b, Axis::kPp);
  };
  const PassesOfShape& shape = last.of(l, as_far, [&](auto&& emplace) -> PassesOfShape& {
    return emplace(Pieces(l, kinds_), [&](const Pieces& pieces) {
      return pass_costs(l, pieces, std::nullopt, recent);
    });
  });
  if (!shape.costs) return std::nullopt;
  const SimTime out = step(costs(l, *shape.costs, recent),
                           std::span(shape.of_stages.data(), shape.of_stages.size()));
  return std::max(out, slowest_stage(l, shape.pieces, recent));
}

SimTime Bounds::closer(const Layout& l) const {
  Recent recent;
  const Pieces pieces(l, kinds_);
  const PipelineCosts stages = costs(l, *pass_costs(l, pieces, std::nullopt, recent), recent);
  const std::int64_t all = microbatches_of_replica(l);
  if (all * pieces.count > kMostTasks) return 0;
  const Strategy& base = scenario_.strategy;
  const StepRules rules = {scenario_.workload.gradient_clipping, base.data.overlap,
                           base.data.gathers_ahead() && !base.offload.state()};
  const PipelineOptions options = strategy_of(l, base).pipeline;
  const std::shared_ptr<const Schedules::Tasks> tasks = schedules_.of(l, all, options);
  return std::max(walk_passes(stages, *tasks, all, rules), regathered(stages, *tasks));
}

/// Where nodes differ: all passes of a stage on the slowest kind that has ranks of it.
SimTime Bounds::slowest_stage(const Layout& l, const Pieces& pieces, Recent& recent) const {
  const Cluster& cluster = scenario_.cluster;
  SimTime out = 0;
  if (cluster.kinds() == 1 || !order_.stages_outermost()) return out;
  const std::int64_t ranks = cluster.world_size() / l.pp;
  for (std::size_t k = 0; k < cluster.kinds(); ++k) {
    const PassCosts stages = *pass_costs(l, pieces, k, recent);
    for (std::int64_t s = 0; s < l.pp; ++s) {
      bool present = false;
      for (std::int64_t r = s * ranks; !present && r < (s + 1) * ranks;) {
        present = cluster.kind_of(r) == k;
        r += cluster.devices_per_node - r % cluster.devices_per_node;
      }
      if (present) out = std::max(out, stages.work(pieces.parts_of_stage(s)));
    }
  }
  return out;
}

std::int64_t Bounds::microbatches_of_replica(const Layout& l) const {
  return l.microbatches(scenario_.workload.global_batch);
}

std::int64_t Bounds::microbatches(const Layout& l) const {
  const std::int64_t ways = kind_of(l.schedule).shape == PipelineShape::kBothWays ? 2 : 1;
  return microbatches_of_replica(l) / ways;
}

bool Bounds::sums_whole(const Layout& l) const {
  return microbatches_of_replica(l) > 1 && scenario_.strategy.fsdp.sums_whole(l.zero_stage, l.pp);
}

bool Bounds::writes(const Layout& l) const {
  return !adds_gradients(l.zero_stage) && !sums_whole(l);
}

bool Bounds::pairs(const Layout& l) const {
  if (!kinds_.any_experts()) return false;
  const ExchangeOverlap overlap = scenario_.strategy.pipeline.exchange_overlap;
  return PipelineOptions{.schedule = l.schedule, .exchange_overlap = overlap}.pairs_passes();
}

std::optional<PlannedSizes> Bounds::sizes(const Layout& l, Recent& recent) const {
  const std::optional<ShardCosts>* again = shard(l, recent.again);
  const std::optional<ShardCosts>* kept =
      l.recompute_layers < 0 ? again : shard(plain(l), recent.kept);
  if (again == nullptr || kept == nullptr || !*again || !*kept) return std::nullopt;
  return PlannedSizes{(*kept)->sizes, (*again)->sizes};
}

/// Null where the layout cannot be planned.
const ShardTimesByKind* Bounds::times(const Layout& l, LastFound<Shards>& whole,
                                      LastFound<SplitTimes>& split) const {
  if (!splits_backward(l.schedule)) return &(*shard(l, whole))->times;
  const auto& found = split.in(split_times_, shard_key(l));
  return found ? &*found : nullptr;
}

std::optional<PassCosts> Bounds::pass_costs(const Layout& l, const Pieces& pieces,
                                            std::optional<std::size_t> kind, Recent& recent) const {
  const std::optional<PlannedSizes> planned = sizes(l, recent);
  if (!planned) return std::nullopt;
  const ShardTimesByKind* again = times(l, recent.again, recent.split_again);
  const ShardTimesByKind* kept =
      l.recompute_layers < 0 ? again : times(plain(l), recent.kept, recent.split_kept);
  if (again == nullptr || kept == nullptr) return std::nullopt;
  const auto choose = [&](const ShardTimesByKind& all) -> const ShardTimes& {
    return (kind ? all.of_kind[*kind] : all.least)[writes(l) ? 0 : 1];
  };
  return PassCosts{pieces,
                   choose(*kept),
                   choose(*again),
                   microbatches(l),
                   recent.message.in(messages_, message_key(l, planned->kept)),
                   pairs(l),
                   splits_backward(l.schedule)};
}

PipelineCosts Bounds::costs(const Layout& l, const PassCosts& passes, Recent& recent) const {
  return {passes, l, recent.exchange.in(exchanges_, exchange_key(l)), sums_whole(l)};
}

}  // namespace plait
