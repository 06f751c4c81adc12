#include "kernels/cuda/cast.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/instantiate.h"

namespace plait::kernels::cuda {
namespace {

template <class To, class From>
struct Convert {
  To* out;
  const From* in;
  template <int V>
  __device__ void run(std::int64_t at) const {
    store(out + at, load<V>(in + at));
  }
};

template <class T>
struct CopyColumns {
  T* out;
  const T* in;
  std::int64_t out_width, in_width;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    store(out + row * out_width + column, load<V>(in + row * in_width + column));
  }
};

template <class T>
struct ExchangeDimensions {
  T* out;
  const T* in;
  std::int64_t a, b, width;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {  // of `out`
    const std::int64_t from = row % a * b + row / a;
    store(out + row * width + column, load<V>(in + from * width + column));
  }
};

template <class T, bool gathers>
struct MoveRows {
  T* out;
  const T* in;
  Positions place;
  std::int64_t width;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    const std::int64_t here = row * width + column, there = place(row) * width + column;
    store(out + (gathers ? here : there), load<V>(in + (gathers ? there : here)));
  }
};

}  // namespace

template <class To, class From>
void cast(const Queue& q, To* out, const From* in, std::int64_t elements) {
  constexpr int kWide = std::max(kVector<To>, kVector<From>);
  for_each_element<kWide>(q, aligned({out, in}), elements, Convert<To, From>{out, in});
}

template <class T>
void copy_columns(const Queue& q, T* out, std::int64_t out_width, const T* in,
                  std::int64_t in_width, std::int64_t rows, std::int64_t columns) {
  constexpr int kWide = kVector<T>;
  const bool vectorised = aligned({out, in}) && out_width % kWide == 0 && in_width % kWide == 0;
  for_each_in_rows<kWide>(q, vectorised, rows, columns,
                          CopyColumns<T>{out, in, out_width, in_width});
}

template <class T>
void exchange_dimensions(const Queue& q, T* out, const T* in, std::int64_t a, std::int64_t b,
                         std::int64_t width) {
  for_each_in_rows<kVector<T>>(q, aligned({out, in}), a * b, width,
                               ExchangeDimensions<T>{out, in, a, b, width});
}

template <class T>
void gather_rows(const Queue& q, T* out, const T* in, const Positions& place, std::int64_t rows,
                 std::int64_t width) {
  for_each_in_rows<kVector<T>>(q, aligned({out, in}), rows, width,
                               MoveRows<T, true>{out, in, place, width});
}
template <class T>
void scatter_rows(const Queue& q, T* out, const T* in, const Positions& place, std::int64_t rows,
                  std::int64_t width) {
  for_each_in_rows<kVector<T>>(q, aligned({out, in}), rows, width,
                               MoveRows<T, false>{out, in, place, width});
}

#define PLAIT_INSTANTIATE(To, From) \
  template void cast(const Queue&, To*, const From*, std::int64_t);
PLAIT_INSTANTIATE(float, float)
PLAIT_INSTANTIATE(float, __nv_bfloat16)
PLAIT_INSTANTIATE(__nv_bfloat16, float)
PLAIT_INSTANTIATE(__nv_bfloat16, __nv_bfloat16)
PLAIT_INSTANTIATE(float, __half)
PLAIT_INSTANTIATE(__half, float)
#undef PLAIT_INSTANTIATE
#define PLAIT_INSTANTIATE(T)                                                                       \
  template void copy_columns(const Queue&, T*, std::int64_t, const T*, std::int64_t, std::int64_t, \
                             std::int64_t);                                                        \
  template void exchange_dimensions(const Queue&, T*, const T*, std::int64_t, std::int64_t,        \
                                    std::int64_t);                                                 \
  template void gather_rows(const Queue&, T*, const T*, const Positions&, std::int64_t,            \
                            std::int64_t);                                                         \
  template void scatter_rows(const Queue&, T*, const T*, const Positions&, std::int64_t,           \
                             std::int64_t);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
