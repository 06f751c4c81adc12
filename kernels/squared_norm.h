#pragma once
// Sum of squares of a buffer: a rank's part of the global gradient norm.

#include <cstdint>

namespace plait::kernels {

/// out[1] = (`accumulate`: +=) sum of x[elements]^2, summed in double.
template <class T>
void squared_norm(T* out, const T* x, std::int64_t elements, bool accumulate);

}  // namespace plait::kernels
