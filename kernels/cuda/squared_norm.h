#pragma once
// Sum of squares on the device: kernels/squared_norm.h, T = float or bf16, summed in double, in an
// order that does not vary from run to run.

#include "kernels/cuda/queue.h"

namespace plait::kernels::cuda {

/// out[1] = (`accumulate`: +=) sum of x[elements]^2.
template <class T>
void squared_norm(const Queue& q, float* out, const T* x, std::int64_t elements, bool accumulate);

}  // namespace plait::kernels::cuda
