#include "kernels/largest_magnitude.h"

#include <algorithm>
#include <cmath>

namespace plait::kernels {

template <class T>
T largest_magnitude(const T* x, std::int64_t elements) {
  T largest = 0;
  for (std::int64_t i = 0; i < elements; ++i) largest = std::max(largest, std::abs(x[i]));
  return largest;
}

template float largest_magnitude(const float*, std::int64_t);
template double largest_magnitude(const double*, std::int64_t);

}  // namespace plait::kernels
