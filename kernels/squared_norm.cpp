#include "kernels/squared_norm.h"

namespace plait::kernels {

template <class T>
void squared_norm(T* out, const T* x, std::int64_t elements, bool accumulate) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < elements; ++i) {
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  *out = static_cast<T>(accumulate ? static_cast<double>(*out) + sum : sum);
}

template void squared_norm(float*, const float*, std::int64_t, bool);
template void squared_norm(double*, const double*, std::int64_t, bool);

}  // namespace plait::kernels
