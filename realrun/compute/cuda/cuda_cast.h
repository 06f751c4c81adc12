#pragma once
// One Cast on a GPU: conversions, and copies to tensors of other shapes (realrun/compute/copy.h)
// and to quantised ones (realrun/compute/quantized.h).

#include "kernels/cuda/queue.h"
#include "realrun/buffers.h"
#include "realrun/compute/op_view.h"

namespace plait::cuda {

/// Queues what `view` says. Throws InputError G012 for element types without kernels.
void cast(const kernels::cuda::Queue& queue, const Operands& operands, const OpView& view);

}  // namespace plait::cuda
