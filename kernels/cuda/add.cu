#include "kernels/cuda/add.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/instantiate.h"

namespace plait::kernels::cuda {
namespace {

template <class T>
struct Sum {
  T* out;
  const T *a, *b;
  template <int V>
  __device__ void run(std::int64_t at) const {
    const Floats<V> x = load<V>(a + at), y = load<V>(b + at);
    Floats<V> sum;
#pragma unroll
    for (int i = 0; i < V; ++i) sum.at[i] = x.at[i] + y.at[i];
    store(out + at, sum);
  }
};

template <class T>
struct BiasedSum {
  T* out;
  const T *a, *b, *bias;
  std::int64_t width;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * width + column;
    const Floats<V> x = load<V>(a + at), y = load<V>(b + at), z = load<V>(bias + column);
    Floats<V> sum;
#pragma unroll
    for (int i = 0; i < V; ++i) sum.at[i] = x.at[i] + (y.at[i] + z.at[i]);
    store(out + at, sum);
  }
};

template <class To, class From>
struct Accumulate {
  To* out;
  const From* in;
  template <int V>
  __device__ void run(std::int64_t at) const {
    Floats<V> sum = load<V>(out + at);
    const Floats<V> x = load<V>(in + at);
#pragma unroll
    for (int i = 0; i < V; ++i) sum.at[i] += x.at[i];
    store(out + at, sum);
  }
};

struct TakeLarger {
  float* out;
  const float* in;
  template <int V>
  __device__ void run(std::int64_t at) const {
    Floats<V> most = load<V>(out + at);
    const Floats<V> x = load<V>(in + at);
#pragma unroll
    for (int i = 0; i < V; ++i) most.at[i] = fmaxf(most.at[i], x.at[i]);
    store(out + at, most);
  }
};

template <class T>
struct ScaledSum {
  T* out;
  const T* b;
  float scale;
  std::int64_t width, stride;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * stride + column;
    Floats<V> sum = load<V>(out + at);
    const Floats<V> x = load<V>(b + row * width + column);
#pragma unroll
    for (int i = 0; i < V; ++i) sum.at[i] += scale * x.at[i];
    store(out + at, sum);
  }
};

template <class T>
struct ScaledGradient {
  T* db;
  const T* dout;
  float scale;
  std::int64_t width, stride;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    Floats<V> x = load<V>(dout + row * stride + column);
#pragma unroll
    for (int i = 0; i < V; ++i) x.at[i] *= scale;
    store(db + row * width + column, x);
  }
};

template <class T>
struct DropoutSum {
  T* out;
  std::uint8_t* mask;
  const T *a, *b, *bias;
  std::int64_t batch, width;
  Dropout dropout;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * width + column;
    const std::uint64_t key = dropout_row_key(dropout, row % batch, row / batch, 0);
    const float scale = static_cast<float>(dropout.scale());
    const std::uint32_t threshold = dropout.threshold();
    const Floats<V> x = load<V>(a + at);
    Floats<V> y = load<V>(b + at);
    if (bias != nullptr) {
      const Floats<V> z = load<V>(bias + column);
#pragma unroll
      for (int i = 0; i < V; ++i) y.at[i] += z.at[i];
    }
    Kept<V> kept;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      kept.at[i] = dropout_draw(key, static_cast<std::uint32_t>(column + i)) >= threshold ? 1 : 0;
      y.at[i] = x.at[i] + y.at[i] * (scale * static_cast<float>(kept.at[i]));
    }
    store_kept(mask + at, kept);
    store(out + at, y);
  }
};

template <class T>
struct DropoutGradient {
  T* db;
  const T* dout;
  const std::uint8_t* mask;
  float scale;
  template <int V>
  __device__ void run(std::int64_t at) const {
    const Kept<V> kept = load_kept<V>(mask + at);
    Floats<V> x = load<V>(dout + at);
#pragma unroll
    for (int i = 0; i < V; ++i) x.at[i] *= scale * static_cast<float>(kept.at[i]);
    store(db + at, x);
  }
};

}  // namespace

template <class T>
void add(const Queue& q, T* out, const T* a, const T* b, const T* bias, std::int64_t rows,
         std::int64_t width) {
  const bool vectorised = aligned({out, a, b, bias});
  if (bias == nullptr) {
    return for_each_element<kVector<T>>(q, vectorised, rows * width, Sum<T>{out, a, b});
  }
  for_each_in_rows<kVector<T>>(q, vectorised, rows, width, BiasedSum<T>{out, a, b, bias, width});
}

template <class To, class From>
void accumulate(const Queue& q, To* out, const From* in, std::int64_t elements) {
  constexpr int kWide = std::max(kVector<To>, kVector<From>);
  for_each_element<kWide>(q, aligned({out, in}), elements, Accumulate<To, From>{out, in});
}

void take_larger(const Queue& q, float* out, const float* in, std::int64_t elements) {
  for_each_element<kVector<float>>(q, aligned({out, in}), elements, TakeLarger{out, in});
}

template <class T>
void add_scaled(const Queue& q, T* out, const T* b, double scale, std::int64_t rows,
                std::int64_t width, std::int64_t stride) {
  const bool vectorised = aligned({out, b}) && stride % kVector<T> == 0;
  for_each_in_rows<kVector<T>>(q, vectorised, rows, width,
                               ScaledSum<T>{out, b, static_cast<float>(scale), width, stride});
}

template <class T>
void add_scaled_backward(const Queue& q, T* db, const T* dout, double scale, std::int64_t rows,
                         std::int64_t width, std::int64_t stride) {
  const bool vectorised = aligned({db, dout}) && stride % kVector<T> == 0;
  for_each_in_rows<kVector<T>>(
      q, vectorised, rows, width,
      ScaledGradient<T>{db, dout, static_cast<float>(scale), width, stride});
}

template <class T>
void add_dropout(const Queue& q, T* out, std::uint8_t* mask, const T* a, const T* b, const T* bias,
                 std::int64_t sequence, std::int64_t batch, std::int64_t width,
                 const Dropout& dropout) {
  for_each_in_rows<kVector<T>>(q, aligned({out, mask, a, b, bias}), sequence * batch, width,
                               DropoutSum<T>{out, mask, a, b, bias, batch, width, dropout});
}

template <class T>
void add_dropout_backward(const Queue& q, T* db, const T* dout, const std::uint8_t* mask,
                          std::int64_t elements, double probability) {
  const auto scale = static_cast<float>(1 / (1 - probability));
  for_each_element<kVector<T>>(q, aligned({db, dout, mask}), elements,
                               DropoutGradient<T>{db, dout, mask, scale});
}

#define PLAIT_INSTANTIATE(T)                                                                     \
  template void add(const Queue&, T*, const T*, const T*, const T*, std::int64_t, std::int64_t); \
  template void add_scaled(const Queue&, T*, const T*, double, std::int64_t, std::int64_t,       \
                           std::int64_t);                                                        \
  template void add_scaled_backward(const Queue&, T*, const T*, double, std::int64_t,            \
                                    std::int64_t, std::int64_t);                                 \
  template void add_dropout(const Queue&, T*, std::uint8_t*, const T*, const T*, const T*,       \
                            std::int64_t, std::int64_t, std::int64_t, const Dropout&);           \
  template void add_dropout_backward(const Queue&, T*, const T*, const std::uint8_t*,            \
                                     std::int64_t, double);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE
#define PLAIT_INSTANTIATE(From, To) \
  template void accumulate(const Queue&, To*, const From*, std::int64_t);
PLAIT_FOR_GRADIENTS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
