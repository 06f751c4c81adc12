#pragma once
// What the launchers of attention share. Used inside kernels only.

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/error.h"
#include "kernels/cuda/attention_tile.h"
#include "kernels/cuda/elementwise.h"

namespace plait::kernels::cuda {

inline float score_scale(const AttentionShape& shape) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)));
}

/// Of queries and keys, and of values: those of DeepSeek-V2 and V3, the widest in use.
inline constexpr std::int64_t kMostHeadDim = 192, kMostValueDim = 128;

inline void check_keys(const AttentionShape& shape) {
  PLAIT_CHECK(shape.keys() <= std::numeric_limits<int>::max(), "more keys than attention counts");
  PLAIT_CHECK((shape.documents == 0 && shape.window == 0) || shape.causal,
              "documents or windows whose queries see later keys");
}
/// Rows go to shared memory 16 bytes at a time.
inline void check_fused(const AttentionShape& shape, bool vectors) {
  PLAIT_CHECK(shape.head_dim % 8 == 0 && shape.head_dim <= kMostHeadDim && vectors,
              "fused attention: heads of 8, 16, ... 192 elements at aligned addresses");
  PLAIT_CHECK(shape.v_dim() % 8 == 0 && shape.v_dim() <= kMostValueDim,
              "fused attention: values of 8, 16, ... 128 elements");
  check_keys(shape);
}

/// f(columns of a tile of queries or keys, those of values), as types: at least head_dim and v_dim;
/// for float, which need not be fast, always the most of values.
template <class T, class F>
void with_widths(const AttentionShape& shape, F&& f) {
  using std::integral_constant;
  if (shape.head_dim > 128) return f(integral_constant<int, 192>{}, integral_constant<int, 128>{});
  if constexpr (!std::is_same_v<T, float>) {
    const bool narrow = shape.head_dim <= 64 && shape.v_dim() <= 64;
    if (narrow) return f(integral_constant<int, 64>{}, integral_constant<int, 64>{});
  }
  f(integral_constant<int, 128>{}, integral_constant<int, 128>{});
}

inline dim3 tiles_of(std::int64_t rows, std::int64_t heads, std::int64_t batch) {
  PLAIT_CHECK(heads <= kMostGridRows && batch <= kMostGridRows,
              "more heads or samples than a grid holds");
  return dim3(static_cast<unsigned>(ceil_div(rows, kTileRows)), static_cast<unsigned>(heads),
              static_cast<unsigned>(batch));
}

template <class T>
struct ClearColumns {
  T* out;  // at the first column
  std::int64_t stride;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    store(out + row * stride + column, Floats<V>{});
  }
};

/// Columns of keys and values that have rows of their own become 0; what is merged is there.
template <class T>
void clear_unused_columns(const Queue& q, const Packed<T>& gradients, const AttentionShape& shape) {
  if (gradients.kv == nullptr || shape.merges) return;
  const std::int64_t first = shape.heads * shape.head_dim, width = shape.row_width();
  T* out = gradients.qkv + first;
  const bool vectorised = aligned({out}) && width % kVector<T> == 0;
  for_each_in_rows<kVector<T>>(q, vectorised, shape.sequence * shape.batch, width - first,
                               ClearColumns<T>{out, width});
}

}  // namespace plait::kernels::cuda
