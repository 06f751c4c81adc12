#include "kernels/bias_grad.h"

#include "kernels/fill.h"

namespace plait::kernels {

template <class T>
void bias_grad(T* dbias, const T* dy, std::int64_t rows, std::int64_t width, bool accumulate) {
  if (!accumulate) fill(dbias, T(0), width);
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* row = dy + r * width;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) dbias[i] += row[i];
  }
}

template void bias_grad(float*, const float*, std::int64_t, std::int64_t, bool);
template void bias_grad(double*, const double*, std::int64_t, std::int64_t, bool);

}  // namespace plait::kernels
