#pragma once
// Device memory of the ranks of one pipeline stage: live tensors and what comes on top.

#include <optional>
#include <vector>

#include "costmodel/memory.h"

namespace plait {

/// Live tensors on the ranks with one role.
struct RoleUse {
  Role role;
  Bytes live;                      // at their peak
  std::vector<MemoryPoint> curve;  // as StageMemory::curve
  std::vector<MemoryItem> overheads;
};

struct StageUse {
  StageMemory live;            // of the fullest role
  std::vector<RoleUse> roles;  // with parameter servers: what each role has
  std::vector<MemoryItem> overheads;
  std::int64_t position = 0;  // in the stage, of a rank whose device has least memory
  std::size_t kind = 0;       // of its node (Cluster::kind)
  /// Live tensors and overheads.
  Bytes bytes() const;
};

/// On the stage's first rank on a device with the least memory. `placement`: device of each rank;
/// empty: rank r on device r.
StageUse stage_use(const Plan& plan, std::size_t stage, const Cluster& cluster,
                   const std::vector<std::int64_t>& placement, const FrameworkMemory& framework,
                   const Kernels& kernels, bool curve = false);
/// The same for all stages.
std::vector<StageUse> stage_uses(const Plan& plan, const Cluster& cluster,
                                 const std::vector<std::int64_t>& placement,
                                 const FrameworkMemory& framework, const Kernels& kernels,
                                 bool curve = false);
/// The same of a plan with so many microbatches more in its middle, from this one; nothing where
/// that does not tell (plan/repeats.h).
std::optional<std::vector<StageUse>> stage_uses_of_longer(
    const Plan& plan, const Cluster& cluster, const std::vector<std::int64_t>& placement,
    const FrameworkMemory& framework, const Kernels& kernels, std::int64_t microbatches);

}  // namespace plait
