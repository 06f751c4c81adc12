#pragma once
// softplus(x) = ln(1 + exp(x)), without overflow. Its derivative is the sigmoid.

#include <algorithm>
#include <cmath>

namespace plait::kernels {

template <class T>
inline T softplus(T x) {
  return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
}

}  // namespace plait::kernels
