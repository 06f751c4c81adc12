#pragma once
// Sets device memory to a value: kernels/fill.h, T = float or bf16. Bytes of zeros are
// cudaMemsetAsync's.

#include "kernels/cuda/queue.h"

namespace plait::kernels::cuda {

/// out[elements] = value.
template <class T>
void fill(const Queue& q, T* out, T value, std::int64_t elements);

}  // namespace plait::kernels::cuda
