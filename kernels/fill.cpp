#include "kernels/fill.h"

#include <algorithm>

namespace plait::kernels {

template <class T>
void fill(T* out, T value, std::int64_t elements) {
  std::fill_n(out, elements, value);
}

template void fill(float*, float, std::int64_t);
template void fill(double*, double, std::int64_t);

}  // namespace plait::kernels
