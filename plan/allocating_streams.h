#pragma once
// On which stream frameworks allocate each tensor of a plan.

#include <vector>

#include "plan/plan.h"

namespace plait {

/// The stream on which each tensor is allocated. PyTorch's caching allocator gives a freed block
/// back to that stream and to no other (c10/cuda/CUDACachingAllocator.cpp, first comment).
/// Frameworks allocate what gathers and reductions of shards write on streams of their own
/// (fsdp_copies.cpp); all other tensors, those of other collectives too, on the compute stream,
/// which calls them. By tensor.
std::vector<Stream> allocating_streams(const Plan& plan);

}  // namespace plait
