#pragma once
// Device memory besides live tensors: items with a name and a source, never a fudge factor.

#include <string>
#include <vector>

#include "core/quantity.h"
#include "model/kernels.h"
#include "plan/framework_memory.h"
#include "plan/memory.h"
#include "plan/plan.h"
#include "topologies/cluster.h"

namespace plait {

struct MemoryItem {
  std::string name;  // "cuda_context", "communicator_buffers", "workspace", "allocator_reserve",
                     // "loss_copies", "step_temporaries", "buckets",
                     // "eager_intermediates"
  Bytes bytes;
  std::string source;  // where the number comes from
};

/// Overheads of one rank of `stage`, given its live tensors at their peak (which the allocator
/// rounds). Temporaries of the optimizer step count as far as they raise the peak: activations are
/// gone then.
std::vector<MemoryItem> memory_overheads(const Plan& plan, std::size_t stage,
                                         const StageMemory& live, const Cluster& cluster,
                                         std::size_t kind = 0,
                                         const FrameworkMemory& framework = {},
                                         const Kernels& kernels = {});

}  // namespace plait
