#pragma once
// One compute op on a GPU: operands in device memory in the plan's own element types, kernels of
// kernels/cuda queued on a stream. And copies to and from other places.

#include "kernels/cuda/queue.h"
#include "realrun/compute.h"
#include "realrun/compute/cuda/library_attention.h"

namespace plait::cuda {

/// Queues `op`, compute or a Copy, as it stands in `call`; fused attention by `library` where it
/// takes it (null: never). Throws InputError G012 for element types without kernels.
void compute(const kernels::cuda::Queue& queue, const RunContext& context, const Operands& operands,
             const Op& op, const Call& call, LibraryAttention* library);

}  // namespace plait::cuda
