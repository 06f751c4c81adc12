// tanh goes through e^x: (1 + tanh u) / 2 = sigmoid(2 u). libm's tanh takes times that depend on
// the data.

#include "kernels/activation.h"

#include "kernels/exponential.h"
#include "kernels/silu.h"

namespace plait::kernels {
namespace {

// Value and slope are two functions: g++ keeps a struct of both in memory and reads it back element
// by element. What they share is computed once after inlining.
struct Gelu {
  /// 2 sqrt(2 / pi): the argument of the sigmoid is twice that of the tanh.
  static constexpr double kScale = 1.59576912160573071176;
  static constexpr double kCubic = 0.044715;
  template <class T>
  static T sigmoid_of(T x) {
    return sigmoid(static_cast<T>(kScale) * (x + static_cast<T>(kCubic) * x * x * x));
  }
  template <class T>
  static T value(T x) {
    return x * sigmoid_of(x);
  }
  template <class T>
  static T slope(T x) {
    const T s = sigmoid_of(x);
    const T inner = static_cast<T>(kScale) * (T(1) + T(3) * static_cast<T>(kCubic) * x * x);
    return s + x * s * (T(1) - s) * inner;
  }
};
struct Silu {
  template <class T>
  static T value(T x) {
    return silu_of(x);
  }
  template <class T>
  static T slope(T x) {
    return silu_slope(x);
  }
};
struct Relu {
  template <class T>
  static T value(T x) {
    return x < T(0) ? T(0) : x;  // NaN stays NaN
  }
  template <class T>
  static T slope(T x) {
    return x > T(0) ? T(1) : T(0);
  }
};

template <class F, class T>
void forward_row(T* y, const T* gate, const T* up, std::int64_t width) {
  if (up == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) y[i] = F::value(gate[i]);
    return;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) y[i] = F::value(gate[i]) * up[i];
}

template <class F, class T>
void backward_row(T* dgate, T* dup, const T* dy, const T* gate, const T* up, std::int64_t width) {
  if (up == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) dgate[i] = dy[i] * F::slope(gate[i]);
    return;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    dgate[i] = dy[i] * up[i] * F::slope(gate[i]);
    dup[i] = dy[i] * F::value(gate[i]);
  }
}

template <class F, class T>
void forward(T* y, const T* x, bool gated, std::int64_t rows, std::int64_t width) {
  if (!gated) return forward_row<F, T>(y, x, nullptr, rows * width);
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* gate = x + 2 * r * width;
    forward_row<F, T>(y + r * width, gate, gate + width, width);
  }
}

template <class F, class T>
void backward(T* dx, const T* dy, const T* x, bool gated, std::int64_t rows, std::int64_t width) {
  if (!gated) return backward_row<F, T>(dx, nullptr, dy, x, nullptr, rows * width);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = 2 * r * width;
    backward_row<F, T>(dx + at, dx + at + width, dy + r * width, x + at, x + at + width, width);
  }
}

}  // namespace

template <class T>
void activation_forward(T* y, const T* x, Nonlinearity f, bool gated, std::int64_t rows,
                        std::int64_t width) {
  switch (f) {
    case Nonlinearity::kGelu: return forward<Gelu>(y, x, gated, rows, width);
    case Nonlinearity::kSilu: return forward<Silu>(y, x, gated, rows, width);
    case Nonlinearity::kRelu: return forward<Relu>(y, x, gated, rows, width);
  }
}

template <class T>
void activation_backward(T* dx, const T* dy, const T* x, Nonlinearity f, bool gated,
                         std::int64_t rows, std::int64_t width) {
  switch (f) {
    case Nonlinearity::kGelu: return backward<Gelu>(dx, dy, x, gated, rows, width);
    case Nonlinearity::kSilu: return backward<Silu>(dx, dy, x, gated, rows, width);
    case Nonlinearity::kRelu: return backward<Relu>(dx, dy, x, gated, rows, width);
  }
}

namespace {

template <class T>
void scale(T* x, T factor, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) x[i] *= factor;
}

template <class T>
T dot(const T* a, const T* b, std::int64_t n) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

template <class T>
void weighted_activation_forward(T* y, const T* x, const T* gates, Nonlinearity f, bool gated,
                                 std::int64_t rows, std::int64_t width) {
  activation_forward(y, x, f, gated, rows, width);
  for (std::int64_t r = 0; r < rows; ++r) scale(y + r * width, gates[r], width);
}

// f(x) of a row stands where its dx will.
template <class T>
void weighted_activation_backward(T* dx, T* dgates, const T* dy, const T* x, const T* gates,
                                  Nonlinearity f, bool gated, std::int64_t rows,
                                  std::int64_t width) {
  const std::int64_t inputs = gated ? 2 * width : width;
  for (std::int64_t r = 0; r < rows; ++r) {
    const T *in = x + r * inputs, *d = dy + r * width;
    T* out = dx + r * inputs;
    activation_forward(out, in, f, gated, 1, width);
    dgates[r] = dot(d, out, width);
    activation_backward(out, d, in, f, gated, 1, width);
    scale(out, gates[r], inputs);
  }
}

#define PLAIT_INSTANTIATE(T)                                                                      \
  template void activation_forward(T*, const T*, Nonlinearity, bool, std::int64_t, std::int64_t); \
  template void activation_backward(T*, const T*, const T*, Nonlinearity, bool, std::int64_t,     \
                                    std::int64_t);                                                \
  template void weighted_activation_forward(T*, const T*, const T*, Nonlinearity, bool,           \
                                            std::int64_t, std::int64_t);                          \
  template void weighted_activation_backward(T*, T*, const T*, const T*, const T*, Nonlinearity,  \
                                             bool, std::int64_t, std::int64_t);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
