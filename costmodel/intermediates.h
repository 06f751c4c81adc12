#pragma once
// What autograd keeps of eager chains beside the plan's tensors, until their backward pass.

#include <vector>

#include "model/kernels.h"
#include "plan/plan.h"

namespace plait {

/// By tensor: bytes that are kept for each byte of it, as long as it stays.
std::vector<double> intermediates_by_tensor(const Plan& plan, const Kernels& kernels);

}  // namespace plait
