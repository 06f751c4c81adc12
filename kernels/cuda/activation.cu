// The formulas of kernels/activation.cpp. The exponential and the reciprocal are the special
// function units' own (relative error about 2^-21 for |x| < 10): with exact ones eight elements a
// thread would be more work than their 16 bytes are traffic.

#include "kernels/cuda/activation.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/instantiate.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/row_part.h"

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

/// y times a gate for each row.
template <class F, bool gated, class T>
struct Weighted {
  T* y;
  const T *x, *gates;
  std::int64_t width;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    const T* in = x + (gated ? 2 : 1) * row * width + column;
    const float gate = to_float(gates[row]);
    Floats<V> v = load<V>(in), up{};
    if constexpr (gated) up = load<V>(in + width);
#pragma unroll
    for (int i = 0; i < V; ++i) v.at[i] = gate * F::value(v.at[i]) * (gated ? up.at[i] : 1.0F);
    store(y + row * width + column, v);
  }
};

template <class T>
struct WeightedBackward {
  T *dx, *dgates;
  const T *dy, *x, *gates;
  std::int64_t rows, width;
};

/// A row to a block.
template <class F, bool gated, int V, class T>
__global__ void __launch_bounds__(kMostThreads) weighted_gradient_kernel(WeightedBackward<T> b) {
  for (std::int64_t r = blockIdx.x; r < b.rows; r += gridDim.x) {
    const float gate = to_float(b.gates[r]);
    float dot = 0;
    for (std::int64_t column = std::int64_t{threadIdx.x} * V; column < b.width;
         column += std::int64_t{blockDim.x} * V) {
      const std::int64_t at = (gated ? 2 : 1) * r * b.width + column;
      const Floats<V> d = load<V>(b.dy + r * b.width + column);
      Floats<V> v = load<V>(b.x + at), up{};
      if constexpr (gated) up = load<V>(b.x + at + b.width);
#pragma unroll
      for (int i = 0; i < V; ++i) {
        const float value = F::value(v.at[i]), factor = gated ? up.at[i] : 1.0F;
        dot += d.at[i] * value * factor;
        v.at[i] = gate * d.at[i] * factor * F::slope(v.at[i]);
        up.at[i] = gate * d.at[i] * value;
      }
      store(b.dx + at, v);
      if constexpr (gated) store(b.dx + at + b.width, up);
    }
    dot = sum_block(dot);
    if (threadIdx.x == 0) store(b.dgates + r, Floats<1>{{dot}});
  }
}

template <class F, class T>
void weighted_forward(const Queue& q, T* y, const T* x, const T* gates, bool gated,
                      std::int64_t rows, std::int64_t width) {
  constexpr int kWide = kVector<T>;
  const bool vectorised = aligned({y, x});
  if (gated) {
    return for_each_in_rows<kWide>(q, vectorised, rows, width,
                                   Weighted<F, true, T>{y, x, gates, width});
  }
  for_each_in_rows<kWide>(q, vectorised, rows, width, Weighted<F, false, T>{y, x, gates, width});
}
template <class F, class T>
void weighted_backward(const Queue& q, bool gated, const WeightedBackward<T>& b) {
  constexpr int kWide = kVector<T>;
  const bool vectorised = aligned({b.dx, b.dy, b.x}) && b.width % kWide == 0;
  const unsigned threads = threads_for_row(vectorised ? b.width / kWide : b.width);
  auto* of_vectors = gated ? weighted_gradient_kernel<F, true, kWide, T>
                           : weighted_gradient_kernel<F, false, kWide, T>;
  auto* of_elements =
      gated ? weighted_gradient_kernel<F, true, 1, T> : weighted_gradient_kernel<F, false, 1, T>;
  launch(vectorised ? of_vectors : of_elements, row_blocks(q, threads, b.rows), threads, 0,
         q.stream, b);
}

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

template <class T>
void weighted_activation_forward(const Queue& q, T* y, const T* x, const T* gates, Nonlinearity f,
                                 bool gated, std::int64_t rows, std::int64_t width) {
  switch (f) {
    case Nonlinearity::kGelu: return weighted_forward<Gelu>(q, y, x, gates, gated, rows, width);
    case Nonlinearity::kSilu: return weighted_forward<Silu>(q, y, x, gates, gated, rows, width);
    case Nonlinearity::kRelu: return weighted_forward<Relu>(q, y, x, gates, gated, rows, width);
  }
}
template <class T>
void weighted_activation_backward(const Queue& q, T* dx, T* dgates, const T* dy, const T* x,
                                  const T* gates, Nonlinearity f, bool gated, std::int64_t rows,
                                  std::int64_t width) {
  const WeightedBackward<T> b{dx, dgates, dy, x, gates, rows, width};
  switch (f) {
    case Nonlinearity::kGelu: return weighted_backward<Gelu>(q, gated, b);
    case Nonlinearity::kSilu: return weighted_backward<Silu>(q, gated, b);
    case Nonlinearity::kRelu: return weighted_backward<Relu>(q, gated, b);
  }
}

#define PLAIT_INSTANTIATE(T)                                                                     \
  template void activation_forward(const Queue&, T*, const T*, Nonlinearity, bool, std::int64_t, \
                                   std::int64_t);                                                \
  template void activation_backward(const Queue&, T*, const T*, const T*, Nonlinearity, bool,    \
                                    std::int64_t, std::int64_t);                                 \
  template void weighted_activation_forward(const Queue&, T*, const T*, const T*, Nonlinearity,  \
                                            bool, std::int64_t, std::int64_t);                   \
  template void weighted_activation_backward(const Queue&, T*, T*, const T*, const T*, const T*, \
                                             Nonlinearity, bool, std::int64_t, std::int64_t);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
