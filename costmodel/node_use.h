#pragma once
// What the ranks of a node put into its host's memory and on its drives (strategy.offload).

#include <vector>

#include "plan/plan.h"
#include "topologies/cluster.h"

namespace plait {

struct NodeUse {
  Bytes memory, storage;  // of the node's ranks, at the peak of each
  Bytes capacity;         // of host memory; 0: not described
  bool fits() const { return capacity.value == 0 || memory <= capacity; }
};

/// Of the fullest node. `placement`: device of each rank; empty: rank r on device r.
NodeUse node_use(const Plan& plan, const Cluster& cluster,
                 const std::vector<std::int64_t>& placement, Bytes capacity);

}  // namespace plait
