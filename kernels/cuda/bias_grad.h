#pragma once
// Gradient of a bias on the device: kernels/bias_grad.h. Sums are float's, in an order that does
// not vary from run to run.

#include "kernels/bias_grad.h"
#include "kernels/cuda/queue.h"

namespace plait::kernels::cuda {

/// dbias[width] = (`accumulate`: +=) sum over rows of dy[rows, width]. For (G, T) = (float, float),
/// (float, bf16) and (bf16, bf16). width <= 2^20.
template <class G, class T>
void bias_grad(const Queue& q, G* dbias, const T* dy, std::int64_t rows, std::int64_t width,
               bool accumulate);

}  // namespace plait::kernels::cuda
