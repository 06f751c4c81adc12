#include "serving/replica_ranks.h"

#include "topologies/placement.h"

namespace plait {

std::int64_t replica_rank(const Mesh& mesh, std::int64_t stage, std::int64_t replica,
                          std::int64_t tp) {
  Mesh::Coordinates at = {};
  at[static_cast<std::size_t>(Axis::kPp)] = stage;
  at[static_cast<std::size_t>(Axis::kDp)] = replica;
  at[static_cast<std::size_t>(Axis::kTp)] = tp;
  return mesh.rank(at);
}

std::int64_t replica_device(const ServedModel& served, std::int64_t stage, std::int64_t replica,
                            std::int64_t tp) {
  return device_of(replica_rank(served.layout.mesh, stage, replica, tp), served.placement);
}

}  // namespace plait
