#pragma once
// One compute op on a GPU: operands in device memory in the plan's own element types, kernels of
// kernels/cuda queued on a stream. And copies to and from other places.

#include "kernels/cuda/queue.h"
#include "realrun/compute.h"
#include "realrun/compute/cuda/library_attention.h"

namespace plait::cuda {

/// What attention uses besides its operands.
struct ForAttention {
  LibraryAttention* library = nullptr;   // takes what it can of fused attention; null: nothing
  const std::int64_t* bounds = nullptr;  // of the plan's packed documents, in device memory
};

/// Queues `op`, compute or a Copy, as it stands in `call`. Throws InputError G012 for element types
/// without kernels.
void compute(const kernels::cuda::Queue& queue, const RunContext& context, const Operands& operands,
             const Op& op, const Call& call, const ForAttention& for_attention);

}  // namespace plait::cuda
