#pragma once
// The ranks that hold the same weights, and how they share the state of training.

#include <cstdint>

#include "search/lattice.h"
#include "search/layout.h"
#include "search/rank_order.h"

namespace plait {

struct Sharers {
  std::int64_t copies = 1;  // in all
  std::int64_t shards = 1;  // of them, those that the state is sharded over, side by side
  std::int64_t stride = 1;  // in ranks, from one to the next
  int zero_stage = 0;       // 0 where there is but one shard
};

/// `base`: what no layout says. `apart`: axes along which the weights differ, as experts do along
/// Strategy::experts.axes.
Sharers sharers_of(const Layout& layout, const Strategy& base, AxisSet apart = {});

/// And where they lie.
struct PlacedSharers : Sharers {
  Lattice all;      // that hold the same weights
  Lattice sharing;  // of them, those that the state is sharded over
  Lattice between;  // of those, ranks with the same shard
};
PlacedSharers placed_sharers(const Layout& layout, const Strategy& base, const RankOrder& order,
                             AxisSet apart = {});

}  // namespace plait
