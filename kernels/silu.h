#pragma once
// silu(x) = x / (1 + exp(-x)) (Hendrycks and Gimpel 2016) and its derivative.

#include "kernels/exponential.h"

namespace plait::kernels {

template <class T>
inline T silu_of(T x) {
  return x * sigmoid(x);
}
template <class T>
inline T silu_slope(T x) {
  const T s = sigmoid(x);
  return s + x * s * (T(1) - s);
}

}  // namespace plait::kernels
