// What the bounds of many layouts have in common, worked out once: sizes and times of a rank's
// share of the network, exchanges with its replicas, messages between stages.
#include <algorithm>
#include <limits>
#include <map>
#include <unordered_set>

#include "core/parallel.h"
#include "costmodel/held_multiprocessors.h"
#include "search/bounds.h"

namespace plait {
namespace {

/// Layouts that a thread looks through at a time.
constexpr std::size_t kKeysAtOnce = 2048;

/// The layout of its layers, and that of those that are not recomputed where some are.
template <class Visit>
void each_part(const Layout& l, Visit&& visit) {
  visit(l);
  if (l.recompute_layers >= 0) visit(plain(l));
}

using Numbers = Bounds::Numbers;

std::vector<Numbers> pieces_of(Numbers all) {
  std::vector<Numbers> out;
  for (; !all.empty(); all = all.subspan(out.back().size())) {
    out.push_back(all.first(std::min(all.size(), kKeysAtOnce)));
  }
  return out;
}

/// How ranks share a microbatch. Layouts that differ in it ask for different plans, whatever they
/// recompute.
using SharedAs = std::tuple<std::int32_t, std::int32_t, std::int32_t, bool>;
SharedAs shared_by(const Layout& l) { return {l.tp, l.cp, l.ep, l.sequence_parallel}; }

/// Some layouts by the size of their microbatches.
using BySize = std::map<std::int32_t, std::vector<Numbers>>;

std::map<SharedAs, BySize> by_share(std::span<const Layout> layouts, Numbers numbers, int threads) {
  const std::vector<Numbers> pieces = pieces_of(numbers);
  std::vector<std::vector<Numbers>> alike(pieces.size());
  in_parallel(pieces.size(), threads, [&](std::size_t p) {
    for (Numbers left = pieces[p]; !left.empty();) {  // neighbours mostly are alike
      const Layout& first = layouts[left.front()];
      const auto end = std::ranges::find_if(left, [&](std::uint32_t n) {
        return layouts[n].micro_batch != first.micro_batch ||
               shared_by(layouts[n]) != shared_by(first);
      });
      alike[p].emplace_back(left.begin(), end);
      left = left.subspan(alike[p].back().size());
    }
  });
  std::map<SharedAs, BySize> out;
  for (const auto& piece : alike) {
    for (const Numbers& n : piece) {
      const Layout& first = layouts[n.front()];
      out[shared_by(first)][first.micro_batch].push_back(n);
    }
  }
  return out;
}

/// Enters into a table the keys of layouts that are not there: keys_of(piece, add) calls add(key,
/// layout, wanted) for each of those of a piece, and wanted() says of a new key whether the layout
/// needs it. Returns the new entries, each with a layout that it is of, in order.
template <class Map, class KeysOf>
auto enter(Map& table, std::span<const Numbers> pieces, int threads, KeysOf&& keys_of) {
  using Key = typename Map::key_type;
  std::vector<std::vector<std::pair<Key, Layout>>> fresh(pieces.size());
  in_parallel(pieces.size(), threads, [&](std::size_t p) {
    std::unordered_set<Key, TupleHash> seen;
    std::optional<Key> last;  // neighbours mostly have the same
    keys_of(pieces[p], [&](const Key& key, const Layout& layout, auto&& wanted) {
      if (last == key) return;
      if (!table.contains(key) && !seen.contains(key)) {
        if (!wanted()) return;
        seen.insert(key);
        fresh[p].emplace_back(key, layout);
      }
      last = key;
    });
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

std::int64_t largest_unit(const ShardSizes& sizes) {
  std::int64_t out = std::max({sizes.embedding, sizes.head, sizes.module});
  for (const LayerSizes& layer : sizes.layers)
    out = std::max({out, layer.parameters, layer.experts});
  return out;
}

}  // namespace

/// No plan is of two shares, so these are planned side by side; in each the smallest
/// microbatches come first, which may tell that larger ones have no room.
void Bounds::prepare_memory(std::span<const Layout> layouts, Numbers numbers, int threads) {
  const std::map<SharedAs, BySize> by = by_share(layouts, numbers, threads);
  std::vector<const BySize*> shares;
  for (const auto& [share, sizes] : by) {  // so that each writes to tables of its own
    const auto& [tp, cp, ep, sequence_parallel] = share;
    for (const Recompute r : kRecomputes) shards_[{tp, cp, ep, sequence_parallel, r}];
    shares.push_back(&sizes);
  }
  in_parallel(shares.size(), threads, [&](std::size_t i) {
    for (const auto& [size, alike] : *shares[i]) plan_alike(layouts, alike, threads);
  });
}

void Bounds::plan_alike(std::span<const Layout> layouts, std::span<const Numbers> alike,
                        int threads) {
  Table<ShardKey, std::optional<ShardCosts>> planned;
  const auto keys_of = [&](Numbers piece, auto&& add) {
    Recent recent;
    for (const std::uint32_t n : piece) {
      const Layout& l = layouts[n];
      each_part(l, [&](const Layout& part) {
        add(shard_key(part), part,
            [&] { return !is_planned(part, recent.planned) && !too_large(l, recent); });
      });
    }
  };
  const auto fresh = enter(planned, alike, threads, keys_of);
  in_parallel(fresh.size(), threads, [&](std::size_t i) {
    const auto& [layout, costs] = fresh[i];
    *costs = shard_costs(scenario_.model, scenario_.workload, scenario_.strategy, layout, costs_,
                         groups_, scenario_.interference);
  });
  for (const auto& [layout, costs] : fresh) {
    shards_.at(cut_key(layout))[layout.micro_batch] = std::move(*costs);
  }
}

void Bounds::prepare_time(std::span<const Layout> layouts, Numbers numbers, int threads) {
  const std::vector<Numbers> pieces = pieces_of(numbers);
  const auto always = [] { return true; };
  const auto splits_of = [&](Numbers piece, auto&& add) {
    for (const std::uint32_t n : piece) {
      if (!splits_backward(layouts[n].schedule)) continue;
      each_part(layouts[n], [&](const Layout& part) { add(shard_key(part), part, always); });
    }
  };
  const auto splits = enter(split_times_, pieces, threads, splits_of);
  in_parallel(splits.size(), threads, [&](std::size_t i) {
    const auto& [layout, times] = splits[i];
    *times = split_times(scenario_.model, scenario_.workload, scenario_.strategy, layout, costs_,
                         groups_, scenario_.interference);
  });
  const auto exchanges_of = [&](Numbers piece, auto&& add) {
    Recent recent;
    for (const std::uint32_t n : piece) {
      if (sizes(layouts[n], recent)) add(exchange_key(layouts[n]), layouts[n], always);
    }
  };
  const auto exchanges = enter(exchanges_, pieces, threads, exchanges_of);
  in_parallel(exchanges.size(), threads, [&](std::size_t i) {
    const auto& [layout, found] = exchanges[i];
    Recent recent;
    *found = exchange(layout, sizes(layout, recent)->again);
  });
  const auto messages_of = [&](Numbers piece, auto&& add) {
    Recent recent;
    for (const std::uint32_t n : piece) {
      const Layout& l = layouts[n];
      if (const auto planned = sizes(l, recent)) add(message_key(l, planned->kept), l, always);
    }
  };
  const auto messages = enter(messages_, pieces, threads, messages_of);
  in_parallel(messages.size(), threads, [&](std::size_t i) {
    const auto& [layout, found] = messages[i];
    Recent recent;
    *found = priced_messages(message_key(layout, sizes(layout, recent)->kept));
  });
}

UnitExchange Bounds::exchange(const Layout& l, const ShardSizes& sizes) {
  const Strategy& base = scenario_.strategy;
  const PlacedSharers all = placed_sharers(l, base, order_);
  UnitExchange out;
  const DType whole = scenario_.workload.precision.weights;
  const bool tied = scenario_.model.tied_embeddings;
  if (sizes.embedding > 0) out.embedding = unit(all, sizes, sizes.embedding, whole, tied);
  // One unit takes no less than either of the two by itself, and perhaps no more.
  const bool one_root = l.zero_stage == 3 && base.fsdp.root;
  if (sizes.head > 0 && !one_root) out.head = unit(all, sizes, sizes.head, whole, tied);
  const DType kept = gathered_type_of_layers(scenario_.workload.precision);
  if (sizes.module > 0) out.module = unit(all, sizes, sizes.module, kept);
  std::int64_t experts = 0;
  for (std::size_t k = 0; k < kinds_.count(); ++k) {
    const LayerSizes& layer = sizes.layers[k];
    if (layer.parameters > 0) out.layers[k] = unit(all, sizes, layer.parameters, kept);
    if (all.zero_stage == 3) add_gather_of_frozen(all, layer.frozen, out.layers[k]);
    experts = std::max(experts, layer.experts);
  }
  if (experts > 0) {
    out.experts = unit(placed_sharers(l, base, order_, base.experts.axes), sizes, experts, kept);
    out.experts.gather_slows = out.experts.reduce_slows = 0;  // on a stream of their own
  }
  return out;
}

void Bounds::add_gather_of_frozen(const PlacedSharers& on, Bytes frozen, UnitCosts& out) {
  if (frozen.value == 0 || scenario_.strategy.zero_plus_plus.any()) return;
  const Priced gather = priced(CollectiveKind::kAllGather, DType::kInt8, frozen.value, on.sharing);
  out.gather += gather.takes, out.gather_slows += gather.slows;
  out.held = std::max(out.held, gather.held);
}

Bounds::Priced Bounds::priced(CollectiveKind kind, DType dtype, std::int64_t elements,
                              const Lattice& group) {
  return priced(kind, dtype, elements, group, costs_);
}

Bounds::Priced Bounds::priced(CollectiveKind kind, DType dtype, std::int64_t elements,
                              const Lattice& group, const CostModel& costs) {
  if (group.size() == 1 || !groups_.known()) return {};
  Collective c;
  c.kind = kind, c.axes = Axis::kDp, c.dtype = dtype, c.elements = elements;
  constexpr SimTime kNone = std::numeric_limits<SimTime>::max();
  Priced out = {kNone, kNone};
  for (const GroupPlacement& g : groups_.of(group)) {
    const CollectiveCost price = costs.collective(c, g, scenario_.cluster);
    const SimTime takes = to_sim_time(price.cost.total());
    const double share = held(c, g, price.algorithm);
    out.takes = std::min(out.takes, takes);
    out.slows = std::min(out.slows, static_cast<SimTime>(share * static_cast<double>(takes)));
    out.held = std::max(out.held, share);
  }
  return out;
}

/// What an element takes at least in a collective of `most` or fewer. Of one algorithm and protocol
/// the larger ones are faster for each, but NCCL may leave a faster one too early, and trees reach
/// less of their rate at half a megabyte than below (costmodel/nccl_tuning.cpp). So it is the
/// fastest of all, of these sizes and of halves of it, until starting takes longer.
double Bounds::of_an_element(CollectiveKind kind, DType dtype, std::int64_t most,
                             const Lattice& group) {
  constexpr std::int64_t kAllStart = 16'384;  // bytes that take no time beside their start
  const auto at = [&](std::int64_t elements) {
    const SimTime takes = priced(kind, dtype, elements, group, fastest_).takes;
    return static_cast<double>(takes) / static_cast<double>(elements);
  };
  double out = at(most);
  for (std::int64_t n = most / 2; n * size_of(dtype) >= kAllStart; n /= 2)
    out = std::min(out, at(n));
  return out;
}

/// Of its device's multiprocessors, where that is the same for all that a unit exchanges: not where
/// gathers or reductions are several collectives, or kernels that copy stand between.
double Bounds::held(const Collective& c, const GroupPlacement& group, Algorithm algorithm) const {
  const Cluster& cluster = scenario_.cluster;
  const Strategy& base = scenario_.strategy;
  const bool plain = base.fsdp.copies == FsdpCopies::kNone && !base.parameter_server.any();
  if (!scenario_.interference || !plain || cluster.kinds() > 1) return 0;
  const NodeKind& node = cluster.kind(group.kind);
  const int sms = held_multiprocessors(c, algorithm, group, node, costs_.calibration.get());
  return sms == 0 ? 0 : static_cast<double>(std::min(sms, node.device.sms - 1)) / node.device.sms;
}

/// An update, on any device, or on the host, whose ranks share it.
SimTime Bounds::least(const Adam& adam) const {
  const Cluster& cluster = scenario_.cluster;
  if (scenario_.strategy.offload.state()) {
    if (costs_.machine.processor.name.empty()) return 0;
    const std::int64_t sharers = std::min(cluster.devices_per_node, cluster.world_size());
    return to_sim_time(costs_.on_processor(adam, sharers).total());
  }
  SimTime out = std::numeric_limits<SimTime>::max();
  for (std::size_t k = 0; k < cluster.kinds(); ++k) {
    out = std::min(out, to_sim_time(costs_.compute(adam, cluster.kind(k).device).total()));
  }
  return out;
}

UnitCosts Bounds::unit(const PlacedSharers& on, const ShardSizes& sizes, std::int64_t parameters,
                       DType gathered, bool tied) {
  const Precision& p = scenario_.workload.precision;
  UnitCosts out;
  if (sizes.update) {
    Adam adam = *sizes.update;
    adam.elements = parameters / on.shards;
    if (on.zero_stage == 3)
      adam.weight = adam.master;  // the shard that is gathered may be this one
    out.update = least(adam);
  }
  // Of what ZeRO++ exchanges nothing is known: fewer bytes, of two shards.
  if (on.copies == 1 || scenario_.strategy.zero_plus_plus.any()) return out;
  if (on.zero_stage > 0) {
    const Priced gather = priced(CollectiveKind::kAllGather, gathered, parameters, on.sharing);
    out.gather = gather.takes, out.gather_slows = gather.slows, out.held = gather.held;
  }
  if (on.zero_stage >= 2) {
    const Priced reduce =
        priced(CollectiveKind::kReduceScatter, p.reduction, parameters, on.sharing);
    out.reduce = reduce.takes, out.reduce_slows = reduce.slows;
    out.held = std::max(out.held, reduce.held);
    return out;
  }
  out.reduce = static_cast<SimTime>(static_cast<double>(parameters) *
                                    reduction_of_an_element(on, sizes, tied));
  return out;
}

double Bounds::reduction_of_an_element(const PlacedSharers& on, const ShardSizes& sizes,
                                       bool tied) {
  const Precision& p = scenario_.workload.precision;
  // Buckets hold less than one unit, the largest, more than they are meant to.
  const std::int64_t bucket =
      largest_unit(sizes) + scenario_.strategy.data.bucket.value / size_of(p.gradients);
  const auto whole = [&] {
    return of_an_element(CollectiveKind::kAllReduce, p.reduction, bucket, on.all);
  };
  if (on.zero_stage == 0 || scenario_.strategy.data.all_reduce) return whole();
  const std::int64_t shard = std::max<std::int64_t>(1, bucket / on.shards);
  const double in_shards =
      of_an_element(CollectiveKind::kReduceScatter, p.reduction, bucket, on.sharing) +
      of_an_element(CollectiveKind::kAllReduce, p.reduction, shard, on.between) /
          static_cast<double>(on.shards);
  return tied ? std::min(in_shards, whole()) : in_shards;  // copies on two stages are summed whole
}

/// Of one pipeline, which is no slower than the slowest.
StageMessages Bounds::priced_messages(MessageKey key) {
  const auto& [distance, stages, sent] = key;
  const Bytes bytes(sent);
  std::vector<SimTime> out(static_cast<std::size_t>(stages), 0);
  if (stages == 1 || !groups_.known()) return StageMessages(std::move(out));
  const Groups::Ways& ways = groups_.ways(distance, stages);
  for (std::size_t s = 0; s < out.size(); ++s) {
    const auto takes = [&](const Path& path) {
      return to_sim_time(costs_.transfer(bytes, path).total());
    };
    out[s] = std::min(takes(ways[s][0]), takes(ways[s][1]));
  }
  return StageMessages(std::move(out));
}

}  // namespace plait
