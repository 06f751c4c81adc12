#pragma once
// Adam on the processor for state that a GPU's rank keeps in host memory, in the plan's own types:
// the twin's numbers in float, rounded where the plan has bf16.

#include "realrun/buffers.h"
#include "realrun/compute/op_view.h"

namespace plait::cuda {

/// At once. All operands of `view` are in host memory.
void adam_on_host(const Operands& operands, const OpView& view);

}  // namespace plait::cuda
