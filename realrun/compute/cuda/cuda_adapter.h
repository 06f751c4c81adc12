#pragma once
// A scaled Add on a GPU: what a low-rank adapter adds to some columns of its linear layer's result,
// or the gradient of that.

#include "kernels/cuda/queue.h"
#include "realrun/buffers.h"
#include "realrun/compute/op_view.h"

namespace plait::cuda {

/// Queues what `view` says of `op`. Throws InputError G012 for element types without kernels.
void add_scaled(const kernels::cuda::Queue& queue, const Operands& operands, const OpView& view,
                const Add& op);

}  // namespace plait::cuda
