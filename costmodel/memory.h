#pragma once
// Device memory besides live tensors: items with a name and a source, never a fudge factor.

#include <string>
#include <vector>

#include "core/quantity.h"
#include "plan/plan.h"
#include "topologies/cluster.h"

namespace plait {

struct MemoryItem {
  std::string name;  // "cuda_context", "communicator_buffers", "workspace", "allocator_reserve"
  Bytes bytes;
  std::string source;  // where the number comes from
};

/// Overheads of one rank of `stage`, given the peak of its live tensors (which the allocator
/// rounds).
std::vector<MemoryItem> memory_overheads(const Plan& plan, std::size_t stage, Bytes live_peak,
                                         const Cluster& cluster, std::size_t kind = 0);

}  // namespace plait
