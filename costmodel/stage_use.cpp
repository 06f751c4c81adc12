#include "costmodel/stage_use.h"

#include <algorithm>

#include "plan/places.h"
#include "plan/repeats.h"
#include "topologies/placement.h"

namespace plait {
namespace {

/// The stage's first rank on a device with the least memory.
void find_least_memory(const Plan& plan, std::size_t stage, const Cluster& cluster,
                       const std::vector<std::int64_t>& placement, StageUse& use) {
  if (cluster.others.empty()) return;
  const std::int64_t positions = plan.places_per_stage();
  Bytes least;
  for (std::int64_t p = 0; p < positions; ++p) {
    const std::int64_t rank = rank_at(plan, static_cast<std::int64_t>(stage) * positions + p);
    const std::size_t kind = cluster.kind_of(device_of(rank, placement));
    const Bytes memory = cluster.kind(kind).device.memory;
    if (p == 0 || memory < least) least = memory, use.position = p, use.kind = kind;
  }
}

/// The memory of each role; `use` has then that of the fullest.
std::vector<StageMemory> memory_by_role(const Plan& plan, std::size_t stage, bool curve,
                                        const BesideTensors& beside, StageUse& use) {
  std::vector<StageMemory> out;
  for (std::int64_t rank = 0; rank < plan.mesh.world_size(); ++rank) {
    const Role role = role_of(plan, rank);
    const auto known = [&](const RoleUse& r) { return r.role == role; };
    if (std::ranges::any_of(use.roles, known)) continue;
    StageMemory live = LiveMemory(plan, role, beside).of(stage, curve);
    use.roles.push_back({role, live.peak, live.curve, {}});
    if (out.empty() || live.peak > use.live.peak) use.live = live, use.position = rank;
    out.push_back(std::move(live));
  }
  return out;
}

/// One stage after another.
class StagesInUse {
 public:
  StagesInUse(const Plan& plan, const Cluster& cluster, const std::vector<std::int64_t>& placement,
              const FrameworkMemory& framework, const Kernels& kernels, bool curve,
              std::int64_t further = 0)
      : plan_(plan),
        cluster_(cluster),
        placement_(placement),
        curve_(curve),
        further_(further),
        overheads_(plan, cluster, framework, kernels, further),
        memory_(plan, Role{}, overheads_.beside()) {}

  std::vector<StageUse> all() {
    std::vector<StageUse> out;
    for (std::size_t s = 0; s < plan_.programs.size(); ++s) out.push_back(of(s));
    return out;
  }
  StageUse of(std::size_t stage) {
    StageUse use;
    std::vector<StageMemory> by_role;
    if (plan_.servers.any()) {
      by_role = memory_by_role(plan_, stage, curve_, overheads_.beside(), use);
    } else {
      use.live = further_ > 0 ? memory_.of_longer(stage, further_) : memory_.of(stage, curve_);
    }
    find_least_memory(plan_, stage, cluster_, placement_, use);
    use.overheads = overheads_.of(stage, use.live, use.kind);
    for (std::size_t i = 0; i < by_role.size(); ++i) {
      use.roles[i].overheads = overheads_.of(stage, by_role[i], use.kind);
    }
    return use;
  }

 private:
  const Plan& plan_;
  const Cluster& cluster_;
  const std::vector<std::int64_t>& placement_;
  bool curve_;
  std::int64_t further_;  // microbatches beside those of the plan
  StageOverheads overheads_;
  LiveMemory memory_;
};

}  // namespace

Bytes StageUse::bytes() const {
  Bytes sum = live.peak;
  for (const MemoryItem& item : overheads) sum += item.bytes;
  return sum;
}

StageUse stage_use(const Plan& plan, std::size_t stage, const Cluster& cluster,
                   const std::vector<std::int64_t>& placement, const FrameworkMemory& framework,
                   const Kernels& kernels, bool curve) {
  return StagesInUse(plan, cluster, placement, framework, kernels, curve).of(stage);
}

std::vector<StageUse> stage_uses(const Plan& plan, const Cluster& cluster,
                                 const std::vector<std::int64_t>& placement,
                                 const FrameworkMemory& framework, const Kernels& kernels,
                                 bool curve) {
  return StagesInUse(plan, cluster, placement, framework, kernels, curve).all();
}

std::optional<std::vector<StageUse>> stage_uses_of_longer(
    const Plan& plan, const Cluster& cluster, const std::vector<std::int64_t>& placement,
    const FrameworkMemory& framework, const Kernels& kernels, std::int64_t microbatches) {
  const bool told = !plan.servers.any() && std::ranges::all_of(plan.programs, [&](const auto& p) {
    return is_extensible(repeats_of(p.calls), microbatches);
  });
  if (!told) return std::nullopt;
  return StagesInUse(plan, cluster, placement, framework, kernels, false, microbatches).all();
}

}  // namespace plait
