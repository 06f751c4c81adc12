#include "plan/op.h"

namespace plait {

std::vector<std::int64_t> members(const Mesh& mesh, std::int64_t rank, AxisSet axes,
                                  Stages stages) {
  std::vector<std::int64_t> ranks = mesh.group(rank, axes);
  if (stages == Stages::kAll) return ranks;
  const std::int64_t per_stage = mesh.stride(Axis::kPp), last = mesh[Axis::kPp] - 1;
  std::erase_if(ranks, [&](std::int64_t r) { return r / per_stage != 0 && r / per_stage != last; });
  return ranks;
}

}  // namespace plait
