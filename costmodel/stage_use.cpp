#include "costmodel/stage_use.h"

#include <algorithm>

namespace plait {
namespace {

/// The stage's first rank on a device with the least memory.
void find_least_memory(const Plan& plan, std::size_t stage, const Cluster& cluster,
                       const std::vector<std::int64_t>& placement, StageUse& use) {
  if (cluster.others.empty()) return;
  const std::int64_t positions = plan.ranks_per_stage();
  Bytes least;
  for (std::int64_t p = 0; p < positions; ++p) {
    const std::int64_t rank = static_cast<std::int64_t>(stage) * positions + p;
    const std::size_t kind =
        cluster.kind_of(placement.empty() ? rank : placement[static_cast<std::size_t>(rank)]);
    const Bytes memory = cluster.kind(kind).device.memory;
    if (p == 0 || memory < least) least = memory, use.position = p, use.kind = kind;
  }
}

void find_fullest_role(const Plan& plan, std::size_t stage, bool curve, StageUse& use) {
  for (std::int64_t rank = 0; rank < plan.mesh.world_size(); ++rank) {
    const Role role = role_of(plan, rank);
    const auto known = [&](const RoleUse& r) { return r.role == role; };
    if (std::ranges::any_of(use.roles, known)) continue;
    StageMemory live = live_memory(plan, stage, curve, Place::kDevice, role);
    use.roles.push_back({role, live.peak});
    if (use.roles.size() > 1 && live.peak <= use.live.peak) continue;
    use.live = std::move(live), use.position = rank;
  }
}

}  // namespace

Bytes StageUse::bytes() const {
  Bytes sum = live.peak;
  for (const MemoryItem& item : overheads) sum += item.bytes;
  return sum;
}

StageUse stage_use(const Plan& plan, std::size_t stage, const Cluster& cluster,
                   const std::vector<std::int64_t>& placement, const FrameworkMemory& framework,
                   const Kernels& kernels, bool curve) {
  StageUse use;
  if (plan.servers.any()) {
    find_fullest_role(plan, stage, curve, use);
  } else {
    use.live = live_memory(plan, stage, curve);
  }
  find_least_memory(plan, stage, cluster, placement, use);
  use.overheads = memory_overheads(plan, stage, use.live, cluster, use.kind, framework, kernels);
  return use;
}

}  // namespace plait
