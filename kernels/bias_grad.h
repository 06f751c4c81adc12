#pragma once
// Gradient of a bias: column sums of the output's gradient.

#include <cstdint>

namespace plait::kernels {

/// dbias[width] = (`accumulate`: +=) sum over rows of dy[rows, width].
template <class T>
void bias_grad(T* dbias, const T* dy, std::int64_t rows, std::int64_t width, bool accumulate);

}  // namespace plait::kernels
