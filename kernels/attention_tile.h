#pragma once
// What the fused and the unfused kernel share: where a head's matrices lie in the packed rows, and
// the backward pass of one tile of the probabilities. Used inside kernels only.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/attention.h"
#include "kernels/blas.h"
#include "kernels/fill.h"

namespace plait::kernels {

/// Queries and keys of a tile: two double tiles of 32 KiB stay in the second-level cache.
inline constexpr std::int64_t kTile = 64;

template <class T>
Matrix<T> from_row(Matrix<T> m, std::int64_t row) {
  return {m.data + row * m.stride, m.stride};
}
template <class T>
Matrix<T> from_column(Matrix<T> m, std::int64_t column) {
  return {m.data + column, m.stride};
}

/// One query head of one sample. Row i of a matrix is the i-th query or key.
template <class T>
struct Head {
  Matrix<T> q, k, v;
  Head(Packed<T> rows, const AttentionShape& shape, std::int64_t sample, std::int64_t head) {
    const std::int64_t width = shape.row_width(), d = shape.head_dim;
    const std::int64_t kv_width = rows.kv == nullptr ? width : shape.kv_row_width();
    const std::int64_t kv_head = head / (shape.heads / shape.kv_heads);
    T* kv = rows.kv == nullptr ? rows.qkv + shape.heads * d : rows.kv;
    q = {rows.qkv + sample * width + head * d, shape.batch * width};
    kv += sample * kv_width;
    k = {kv + kv_head * d, shape.batch * kv_width};
    v = {kv + shape.kv_heads * d + kv_head * shape.v_dim(), shape.batch * kv_width};
  }
};

/// Zeros to add to; what is merged is there already.
template <class T>
void clear(Packed<T> gradient, const AttentionShape& shape) {
  if (!shape.merges) {
    fill(gradient.qkv, T(0), shape.sequence * shape.batch * shape.row_width());
  }
  if (gradient.kv == nullptr) return;
  fill(gradient.kv, T(0), shape.keys() * shape.batch * shape.kv_row_width());
}

/// The head's part of context[s, b, heads v_dim].
template <class T>
Matrix<T> context_of(T* context, const AttentionShape& shape, std::int64_t sample,
                     std::int64_t head) {
  const std::int64_t width = shape.heads * shape.v_dim();
  return {context + sample * width + head * shape.v_dim(), shape.batch * width};
}
/// The head's part of probabilities[s, b, heads, keys].
template <class T>
Matrix<T> square_of(T* square, const AttentionShape& shape, std::int64_t sample,
                    std::int64_t head) {
  const std::int64_t at = (sample * shape.heads + head) * shape.keys();
  return {square + at, shape.batch * shape.heads * shape.keys()};
}
template <class T>
T score_scale(const AttentionShape& shape) {
  return static_cast<T>(1 / std::sqrt(static_cast<double>(shape.head_dim)));
}

/// Keys up to a position of the sequence.
inline std::int64_t keys_before(const AttentionShape& shape, std::int64_t position) {
  const Positions& place = shape.keys_place;
  const std::int64_t front = std::clamp<std::int64_t>(position - place.first + 1, 0, place.turn);
  if (place.turn >= shape.keys()) return std::min(front, shape.keys());
  return front +
         std::clamp<std::int64_t>(position - place.second + 1, 0, shape.keys() - place.turn);
}

/// Keys first .. end - 1.
struct Keys {
  std::int64_t first = 0, end = 0;
};
/// Those before the window of a query at that position.
inline std::int64_t keys_out_of_window(const AttentionShape& shape, std::int64_t position) {
  return shape.window > 0 ? keys_before(shape, position - shape.window) : 0;
}

/// Tile of the square: queries i0 .. i0 + rows against keys j0 .. j0 + columns.
struct Tile {
  std::int64_t i0, j0, rows, columns;
  Tile(const AttentionShape& shape, std::int64_t i, std::int64_t j)
      : i0(i),
        j0(j),
        rows(std::min(kTile, shape.sequence - i)),
        columns(std::min(kTile, shape.keys() - j)) {}
  /// Columns that query i0 + r sees. None where queries of the tile stand far apart.
  Keys visible(const AttentionShape& shape, std::int64_t r) const {
    if (!shape.causal) return {0, columns};
    const std::int64_t position = shape.place(i0 + r);
    return {std::clamp<std::int64_t>(keys_out_of_window(shape, position) - j0, 0, columns),
            std::clamp<std::int64_t>(keys_before(shape, position) - j0, 0, columns)};
  }
};
/// Keys that some query of the tiles at i0 sees, from the beginning of a tile on: later queries
/// see later keys.
inline Keys keys_seen(const AttentionShape& shape, std::int64_t i0) {
  if (!shape.causal) return {0, shape.keys()};
  const std::int64_t last = std::min(i0 + kTile, shape.sequence) - 1;
  return {keys_out_of_window(shape, shape.place(i0)) / kTile * kTile,
          keys_before(shape, shape.place(last))};
}

/// delta[r] = dO_r . O_r, which is the sum over keys of probability times its gradient (Dao et al.
/// 2022, appendix B.2, eq. 4), with dropout too.
template <class T>
void row_dots(T* delta, Matrix<const T> dout, Matrix<const T> out, std::int64_t rows,
              std::int64_t width) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const T *a = dout.data + r * dout.stride, *b = out.data + r * out.stride;
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < width; ++i) sum += a[i] * b[i];
    delta[r] = sum;
  }
}

/// dS = P (dP - delta) over the visible keys, where dP = kept dP' and kept[] is 0 or 1 / (1 - p);
/// 0 elsewhere. dS replaces dP'.
template <class T>
void score_gradient_row(T* dp, const T* p, const T* kept, T delta, Keys visible,
                        std::int64_t columns) {
  fill(dp, T(0), visible.first);
#pragma omp simd
  for (std::int64_t c = visible.first; c < visible.end; ++c) {
    dp[c] = p[c] * (dp[c] * kept[c] - delta);
  }
  fill(dp + visible.end, T(0), columns - visible.end);
}

/// dQ += dS K, dK += dS^T Q for one tile, ds[rows, kTile].
template <class T>
void add_query_key_gradient(const Head<T>& gradient, const Head<const T>& head, const T* ds,
                            const Tile& tile, const AttentionShape& shape) {
  const T scale = score_scale<T>(shape);
  blas_gemm<T>(Transposed::kNo, Transposed::kNo, tile.rows, shape.head_dim, tile.columns, scale,
               {ds, kTile}, from_row(head.k, tile.j0), T(1), from_row(gradient.q, tile.i0));
  blas_gemm<T>(Transposed::kYes, Transposed::kNo, tile.columns, shape.head_dim, tile.rows, scale,
               {ds, kTile}, from_row(head.q, tile.i0), T(1), from_row(gradient.k, tile.j0));
}

}  // namespace plait::kernels
