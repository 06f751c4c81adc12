#include "costmodel/stage_use.h"

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
  use.live = live_memory(plan, stage, curve);
  find_least_memory(plan, stage, cluster, placement, use);
  use.overheads = memory_overheads(plan, stage, use.live, cluster, use.kind, framework, kernels);
  return use;
}

}  // namespace plait
