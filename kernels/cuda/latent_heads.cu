// Each vector of the result finds what it is made of: forward of the packed row, backward of the
// three rows one beside the other. Only the gradient of the shared columns is a sum.

#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/instantiate.h"
#include "kernels/cuda/latent_heads.h"

namespace plait::kernels::cuda {
namespace {

/// Widths in elements; rows of one tensor have at most 2^31.
struct LatentRows {
  int heads, own, rope, values;
  int query_width, kv_width, packed_width;
  int key, value;  // where the first head's parts begin in the packed row
  explicit LatentRows(const LatentShape& s)
      : heads(static_cast<int>(s.heads)),
        own(static_cast<int>(s.own)),
        rope(static_cast<int>(s.rope)),
        values(static_cast<int>(s.values)),
        query_width(heads * (own + rope)),
        kv_width(heads * (own + values)),
        packed_width(2 * query_width + heads * values),
        key(query_width),
        value(2 * query_width) {}
  /// All parts begin at vectors of so many elements.
  bool whole_vectors(int n) const { return own % n == 0 && rope % n == 0 && values % n == 0; }
};

template <class T>
struct PackHeads {
  T* packed;
  const T *queries, *kv, *rotary;
  LatentRows w;
  __device__ const T* source(std::int64_t row, int column) const {
    if (column < w.key) return queries + row * w.query_width + column;
    const T* of_row = kv + row * w.kv_width;
    if (column >= w.value) {
      const int head = (column - w.value) / w.values, at = (column - w.value) % w.values;
      return of_row + head * (w.own + w.values) + w.own + at;
    }
    const int width = w.own + w.rope, head = (column - w.key) / width,
              at = (column - w.key) % width;
    return at < w.own ? of_row + head * (w.own + w.values) + at
                      : rotary + row * w.rope + (at - w.own);
  }
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    const T* from = source(row, static_cast<int>(column));
    store(packed + row * w.packed_width + column, load<V>(from));
  }
};

template <class T>
struct UnpackHeads {
  T *dqueries, *dkv, *drotary;
  const T* dpacked;
  LatentRows w;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    const T* from = dpacked + row * w.packed_width;
    auto at = static_cast<int>(column);
    if (at < w.query_width) return store(dqueries + row * w.query_width + at, load<V>(from + at));
    at -= w.query_width;
    if (at < w.kv_width) {
      const int head = at / (w.own + w.values), part = at % (w.own + w.values);
      const int there = part < w.own ? w.key + head * (w.own + w.rope) + part
                                     : w.value + head * w.values + part - w.own;
      return store(dkv + row * w.kv_width + at, load<V>(from + there));
    }
    at -= w.kv_width;
    Floats<V> sum{};
    for (int head = 0; head < w.heads; ++head) {
      const Floats<V> x = load<V>(from + w.key + head * (w.own + w.rope) + w.own + at);
#pragma unroll
      for (int i = 0; i < V; ++i) sum.at[i] += x.at[i];
    }
    store(drotary + row * w.rope + at, sum);
  }
};

}  // namespace

template <class T>
void latent_heads_forward(const Queue& q, T* packed, const T* queries, const T* kv, const T* rotary,
                          const LatentShape& shape) {
  const LatentRows w(shape);
  const bool vectorised = aligned({packed, queries, kv, rotary}) && w.whole_vectors(kVector<T>);
  for_each_in_rows<kVector<T>>(q, vectorised, shape.rows, w.packed_width,
                               PackHeads<T>{packed, queries, kv, rotary, w});
}

template <class T>
void latent_heads_backward(const Queue& q, T* dqueries, T* dkv, T* drotary, const T* dpacked,
                           const LatentShape& shape) {
  const LatentRows w(shape);
  const bool vectorised = aligned({dqueries, dkv, drotary, dpacked}) && w.whole_vectors(kVector<T>);
  for_each_in_rows<kVector<T>>(q, vectorised, shape.rows, w.query_width + w.kv_width + w.rope,
                               UnpackHeads<T>{dqueries, dkv, drotary, dpacked, w});
}

#define PLAIT_INSTANTIATE(T)                                                         \
  template void latent_heads_forward(const Queue&, T*, const T*, const T*, const T*, \
                                     const LatentShape&);                            \
  template void latent_heads_backward(const Queue&, T*, T*, T*, const T*, const LatentShape&);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
