#pragma once
// Collectives and messages between GPUs, each a rank's own, as `plait bench comm` times them.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plan/op.h"
#include "realrun/bench/extents.h"
#include "realrun/transport.h"

namespace plait {

/// Ranks that meet, ascending.
using RankGroup = std::vector<std::int64_t>;

class GpuComm {
 public:
  virtual ~GpuComm() = default;
  GpuComm() = default;
  GpuComm(const GpuComm&) = delete;
  GpuComm& operator=(const GpuComm&) = delete;
  /// Seconds of one of `repeats` collectives of fp32 `elements` (nccl-tests' size) back to back, by
  /// the device's clock. All members of `group` call it: all_reduce, all_gather, reduce_scatter,
  /// all_to_all (out of place alone).
  virtual double collective(CollectiveKind kind, const RankGroup& group, std::int64_t elements,
                            bool in_place, std::int64_t repeats) = 0;
  /// Seconds of one way of `repeats` messages to and fro between the two of `pair`, both of whom
  /// call it.
  virtual double message(const RankGroup& pair, std::int64_t bytes, std::int64_t repeats) = 0;
};

/// Behind "nccl" in rows of ranks on these nodes: nothing within one, " over 2 nodes".
std::string over_nodes(const std::vector<std::int64_t>& nodes);

/// Bytes.
std::int64_t largest_collective(GridSize size);

/// Which groups are measured where ranks are on these nodes, numbered in order: the first 2, 4, 8,
/// ... ranks, all of them, and one rank of each node; the same on all ranks.
std::vector<RankGroup> measured_groups(const std::vector<std::int64_t>& node_of);
/// Neighbours, and the first ranks of two nodes.
std::vector<RankGroup> measured_pairs(const std::vector<std::int64_t>& node_of);

}  // namespace plait
