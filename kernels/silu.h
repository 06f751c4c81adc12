#pragma once
// silu(x) = x / (1 + exp(-x)) (Hendrycks and Gimpel 2016) and its derivative.

#include <cmath>

namespace plait::kernels {

template <class T>
T sigmoid_of(T x) {
  return T(1) / (T(1) + std::exp(-x));
}
template <class T>
T silu_of(T x) {
  return x * sigmoid_of(x);
}
template <class T>
T silu_slope(T x) {
  const T s = sigmoid_of(x);
  return s * (T(1) + x * (T(1) - s));
}

}  // namespace plait::kernels
