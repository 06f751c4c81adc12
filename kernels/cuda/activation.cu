// The formulas of kernels/activation.cpp. The exponential and the reciprocal are the special
// function units' own (relative error about 2^-21 for |x| < 10): with exact ones eight elements a
// thread would be more work than their 16 bytes are traffic.

#include "kernels/cuda/activation.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/instantiate.h"

namespace plait::kernels::cuda {
namespace {

__device__ float sigmoid(float x) { return __fdividef(1.0F, 1.0F + __expf(-x)); }

struct Gelu {
  static constexpr float kScale = 1.59576912160573071176F;  // 2 sqrt(2 / pi)
  static constexpr float kCubic = 0.044715F;
  static __device__ float sigmoid_of(float x) { return sigmoid(kScale * (x + kCubic * x * x * x)); }
  static __device__ float value(float x) { return x * sigmoid_of(x); }
  static __device__ float slope(float x) {
    const float s = sigmoid_of(x);
    return s + x * s * (1.0F - s) * (kScale * (1.0F + 3.0F * kCubic * x * x));
  }
};
struct Silu {
  static __device__ float value(float x) { return x * sigmoid(x); }
  static __device__ float slope(float x) {
    const float s = sigmoid(x);
    return s + x * s * (1.0F - s);
  }
};
struct Relu {
  static __device__ float value(float x) { return x < 0.0F ? 0.0F : x; }  // NaN stays NaN
  static __device__ float slope(float x) { return x > 0.0F ? 1.0F : 0.0F; }
};

template <class F, class T>
struct Plain {
  T* y;
  const T* x;
  template <int V>
  __device__ void run(std::int64_t at) const {
    Floats<V> v = load<V>(x + at);
#pragma unroll
    for (int i = 0; i < V; ++i) v.at[i] = F::value(v.at[i]);
    store(y + at, v);
  }
};
template <class F, class T>
struct Gated {
  T* y;
  const T* x;
  std::int64_t width;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    const T* gate = x + 2 * row * width + column;
    Floats<V> v = load<V>(gate);
    const Floats<V> up = load<V>(gate + width);
#pragma unroll
    for (int i = 0; i < V; ++i) v.at[i] = F::value(v.at[i]) * up.at[i];
    store(y + row * width + column, v);
  }
};
template <class F, class T>
struct PlainGradient {
  T* dx;
  const T *dy, *x;
  template <int V>
  __device__ void run(std::int64_t at) const {
    Floats<V> v = load<V>(x + at);
    const Floats<V> d = load<V>(dy + at);
#pragma unroll
    for (int i = 0; i < V; ++i) v.at[i] = d.at[i] * F::slope(v.at[i]);
    store(dx + at, v);
  }
};
template <class F, class T>
struct GatedGradient {
  T* dx;
  const T *dy, *x;
  std::int64_t width;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = 2 * row * width + column;
    Floats<V> gate = load<V>(x + at), up = load<V>(x + at + width);
    const Floats<V> d = load<V>(dy + row * width + column);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const float g = gate.at[i];
      gate.at[i] = d.at[i] * up.at[i] * F::slope(g);
      up.at[i] = d.at[i] * F::value(g);
    }
    store(dx + at, gate), store(dx + at + width, up);
  }
};

template <class F, class T>
void forward(const Queue& q, T* y, const T* x, bool gated, std::int64_t rows, std::int64_t width) {
  constexpr int kWide = kVector<T>;
  if (!gated) return for_each_element<kWide>(q, aligned({y, x}), rows * width, Plain<F, T>{y, x});
  for_each_in_rows<kWide>(q, aligned({y, x}), rows, width, Gated<F, T>{y, x, width});
}
template <class F, class T>
void backward(const Queue& q, T* dx, const T* dy, const T* x, bool gated, std::int64_t rows,
              std::int64_t width) {
  constexpr int kWide = kVector<T>;
  const bool vectorised = aligned({dx, dy, x});
  if (!gated) {
    return for_each_element<kWide>(q, vectorised, rows * width, PlainGradient<F, T>{dx, dy, x});
  }
  for_each_in_rows<kWide>(q, vectorised, rows, width, GatedGradient<F, T>{dx, dy, x, width});
}

}  // namespace

template <class T>
void activation_forward(const Queue& q, T* y, const T* x, Nonlinearity f, bool gated,
                        std::int64_t rows, std::int64_t width) {
  switch (f) {
    case Nonlinearity::kGelu: return forward<Gelu>(q, y, x, gated, rows, width);
    case Nonlinearity::kSilu: return forward<Silu>(q, y, x, gated, rows, width);
    case Nonlinearity::kRelu: return forward<Relu>(q, y, x, gated, rows, width);
  }
}
template <class T>
void activation_backward(const Queue& q, T* dx, const T* dy, const T* x, Nonlinearity f, bool gated,
                         std::int64_t rows, std::int64_t width) {
  switch (f) {
    case Nonlinearity::kGelu: return backward<Gelu>(q, dx, dy, x, gated, rows, width);
    case Nonlinearity::kSilu: return backward<Silu>(q, dx, dy, x, gated, rows, width);
    case Nonlinearity::kRelu: return backward<Relu>(q, dx, dy, x, gated, rows, width);
  }
}

#define PLAIT_INSTANTIATE(T)                                                                     \
  template void activation_forward(const Queue&, T*, const T*, Nonlinearity, bool, std::int64_t, \
                                   std::int64_t);                                                \
  template void activation_backward(const Queue&, T*, const T*, const T*, Nonlinearity, bool,    \
                                    std::int64_t, std::int64_t);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
