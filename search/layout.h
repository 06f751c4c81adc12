#pragma once
// One way to split the work: a point of the search space, small enough to keep a million of.

#include <cstdint>
#include <string>
#include <vector>

#include "core/override.h"
#include "plan/strategy.h"
#include "plan/workload.h"

namespace plait {

inline constexpr Recompute kRecomputes[] = {Recompute::kNone, Recompute::kSelective,
                                            Recompute::kModules, Recompute::kOps, Recompute::kFull};

struct Layout {
  std::int32_t pp = 1, dp = 1, fsdp = 1, cp = 1, ep = 1, tp = 1;
  std::int32_t micro_batch = 1;
  std::int16_t chunks = 1;
  std::int16_t recompute_layers = -1;  // of each chunk, with full recomputation; -1: all
  std::int16_t first_layers = -1, last_layers = -1;  // of the first and the last chunk
  /// Layers are dealt to the pieces as the scenario lists them (stage_layers).
  bool listed_pieces = false;
  std::uint8_t zero_stage = 0;
  Schedule schedule = Schedule::k1f1b;
  Recompute recompute = Recompute::kNone;
  bool sequence_parallel = false;
  bool reshard = true;             // FSDP's reshard_after_forward
  bool keep_weight_shard = false;  // beside the master shard
  std::uint8_t prefetch = 1;       // layers gathered ahead

  /// Ranks that see different sequences.
  std::int64_t replicas() const { return std::int64_t{dp} * fsdp * ep; }
  /// Of each of them, in a step of `global_batch` sequences.
  std::int64_t microbatches(std::int64_t global_batch) const {
    return global_batch / (replicas() * micro_batch);
  }

  bool operator==(const Layout&) const = default;
};

/// `l` with the state of training shared among its replicas as `sharing` has it.
inline Layout shared_as(const Layout& sharing, Layout l) {
  l.dp = sharing.dp, l.fsdp = sharing.fsdp, l.zero_stage = sharing.zero_stage;
  l.reshard = sharing.reshard, l.prefetch = sharing.prefetch;
  l.keep_weight_shard = sharing.keep_weight_shard;
  return l;
}

/// They differ in no more than how weights would be gathered that neither shards.
inline bool same_plan(const Layout& a, Layout b) {
  if (a.zero_stage < 3) b.reshard = a.reshard, b.prefetch = a.prefetch;
  if (a.zero_stage < 3) b.keep_weight_shard = a.keep_weight_shard;
  return a == b;
}

/// The layout as a strategy; what a layout does not say is as in `base`.
Strategy strategy_of(const Layout& layout, const Strategy& base);
/// The layout that a strategy is.
Layout layout_of(const Strategy& strategy, const Workload& workload);

/// Where the pieces of layouts with listed_pieces begin (plan/strategies/pieces.h); empty where the
/// strategy lists no layers, or not those of the model.
std::vector<std::int32_t> listed_pieces(const Strategy& strategy, std::int64_t layers);

/// Fields of the scenario that make it this layout: {"strategy.tp", "8"}, ...; those that are
/// always written come first.
std::vector<Override> settings_of(const Layout& layout);

/// How `layers` layers are shared by `pieces` pipeline pieces, as evenly as can be with pieces
/// alike but for the ends, whose embedding and head cost time too: the first and the last have up
/// to half of what an even share lacks. False where a piece would have no layer.
bool share_layers(std::int64_t layers, std::int64_t pieces, Layout& out);

}  // namespace plait
