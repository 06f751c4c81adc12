#include "costmodel/node_use.h"

#include <algorithm>

#include "plan/memory.h"
#include "plan/places.h"
#include "topologies/placement.h"

namespace plait {

NodeUse node_use(const Plan& plan, const Cluster& cluster,
                 const std::vector<std::int64_t>& placement, Bytes capacity) {
  const bool leaves =
      std::ranges::any_of(plan.tensors, [](const Tensor& t) { return t.place != Place::kDevice; });
  if (!leaves) return {.memory = {}, .storage = {}, .capacity = capacity};
  std::vector<NodeUse> of_stage;
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    of_stage.push_back({live_memory(plan, s, false, Place::kHost).peak,
                        live_memory(plan, s, false, Place::kStorage).peak, capacity});
  }
  std::vector<NodeUse> nodes(static_cast<std::size_t>(cluster.nodes));
  NodeUse fullest{.memory = {}, .storage = {}, .capacity = capacity};
  for (std::int64_t rank = 0; rank < rank_count(plan); ++rank) {
    const std::int64_t node_of_rank = device_of(rank, placement) / cluster.devices_per_node;
    NodeUse& node = nodes.at(static_cast<std::size_t>(node_of_rank));
    const NodeUse& stage = of_stage[static_cast<std::size_t>(stage_of_rank(plan, rank))];
    node.memory += stage.memory, node.storage += stage.storage;
    fullest.memory = std::max(fullest.memory, node.memory);
    fullest.storage = std::max(fullest.storage, node.storage);
  }
  return fullest;
}

}  // namespace plait
