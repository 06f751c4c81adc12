#pragma once
// What the passes of fused attention share: tiles of 64 rows in shared memory, D columns wide for
// queries and keys and E for values and results, and the products of one warp, which has 16 rows of
// the result. A warp's results lie in its lanes as mma has them (kernels/cuda/mma.h): part[t][e] of
// lane l is row l / 4 + 8 (e / 2), column 8 t + 2 (l % 4) + e % 2. bf16 goes through tensor cores;
// float, for comparison with the twin, through fused multiply-adds with the same layout. Used
// inside kernels only.

#include "kernels/cuda/attention.h"
#include "kernels/cuda/mma.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/vector.h"

namespace plait::kernels::cuda {

inline constexpr int kTileRows = 64;  // queries or keys
inline constexpr int kTileThreads = 128;
inline constexpr int kScoreParts = kTileRows / 8;

/// A warp's 16 rows of a tile of scores, and of D columns.
using Scores = float[kScoreParts][4];
template <int D>
using Columns = float[D / 8][4];

/// Row i of a head is at data + i stride.
template <class T>
struct HeadRows {
  T* data;
  std::int64_t stride;
};
template <class T>
struct HeadOf {
  HeadRows<T> q, k, v;
  __device__ HeadOf(const Packed<T>& rows, const AttentionShape& shape, std::int64_t sample,
                    std::int64_t head) {
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
/// The head's part of context[s, b, heads v_dim].
template <class T>
__device__ HeadRows<T> context_rows(T* context, const AttentionShape& shape, std::int64_t sample,
                                    std::int64_t head) {
  const std::int64_t width = shape.heads * shape.v_dim();
  return {context + sample * width + head * shape.v_dim(), shape.batch * width};
}
/// Place of query `row` in log_sum_exp[s, b, heads].
__device__ inline std::int64_t statistic(const AttentionShape& shape, std::int64_t row,
                                         std::int64_t sample, std::int64_t head) {
  return (row * shape.batch + sample) * shape.heads + head;
}

template <class I>
__device__ I within(I x, I most) {
  return x < 0 ? 0 : x < most ? x : most;
}
/// Where the document begins that has the query.
__device__ inline std::int64_t document_of(const AttentionShape& shape, std::int64_t query) {
  if (shape.documents == 0) return 0;
  const std::int64_t position = shape.place(query);
  std::int64_t document = 0;  // it is this one or one of the `left - 1` behind it
  for (std::int64_t left = shape.documents; left > 1;) {
    const std::int64_t half = left / 2;
    const bool later = shape.bounds[document + half] <= position;
    document += later ? half : 0, left = later ? left - half : half;
  }
  return shape.bounds[document];
}
/// Keys up to a position of the sequence: the first ones, whose two runs stand one before the
/// other.
__device__ inline std::int64_t keys_before(const AttentionShape& shape, std::int64_t position) {
  const std::int64_t keys = shape.keys();
  const Positions& place = shape.keys_place;
  if (place.turn >= keys) return within(position - place.first + 1, keys);
  return within(position - place.first + 1, place.turn) +
         within(position - place.second + 1, keys - place.turn);
}
/// Keys before the first one that comes too late for the query.
__device__ inline std::int64_t keys_until(const AttentionShape& shape, std::int64_t query) {
  return shape.causal ? keys_before(shape, shape.place(query)) : shape.keys();
}
/// The first key of the query's document and window.
__device__ inline std::int64_t keys_from(const AttentionShape& shape, std::int64_t query) {
  const std::int64_t document = document_of(shape, query);
  if (shape.window == 0) return document;
  const std::int64_t out = keys_before(shape, shape.place(query) - shape.window);
  return out > document ? out : document;
}
/// Columns first .. end - 1 of a tile of keys.
struct Visible {
  int first = 0, end = 0;
  __device__ bool operator()(int column) const { return column >= first && column < end; }
};
/// Keys first .. end - 1, of fewer than 2^31: kernels are short of registers.
struct Keys {
  int first = 0, end = 0;
  __device__ bool has(std::int64_t key) const { return key >= first && key < end; }
  /// Those of the tile at key j0.
  __device__ Visible in_tile(std::int64_t j0) const {
    const int from = static_cast<int>(j0);
    return {within(first - from, kTileRows), within(end - from, kTileRows)};
  }
  /// Whether the tile at key j0 has some of them.
  __device__ bool meet(std::int64_t j0) const { return first < j0 + kTileRows && j0 < end; }
  /// Where the tile begins that has the first of them.
  __device__ std::int64_t first_tile() const { return std::int64_t{first / kTileRows} * kTileRows; }
};
/// Those that the query sees.
__device__ inline Keys keys_of(const AttentionShape& shape, std::int64_t query) {
  return {static_cast<int>(keys_from(shape, query)), static_cast<int>(keys_until(shape, query))};
}
/// Those that some query of the tile at i0 sees: later queries see later keys.
__device__ inline Keys keys_of_tile(const AttentionShape& shape, std::int64_t i0) {
  const std::int64_t end = i0 + kTileRows < shape.sequence ? i0 + kTileRows : shape.sequence;
  return {static_cast<int>(keys_from(shape, i0)), static_cast<int>(keys_until(shape, end - 1))};
}

/// A tile [64, D] in shared memory. The 16-byte pieces of a row are exchanged by the row's number,
/// so that eight rows' pieces at the same place lie in different banks.
template <int D, class T>
struct SharedTile {
  static constexpr int kPiece = kVector<T>;
  static constexpr int kElements = kTileRows * D;
  T* data;
  __device__ T* piece(int row, int index) const {
    return data + row * D + (index ^ (row % 8)) * kPiece;
  }
  __device__ float at(int row, int column) const {
    return to_float(piece(row, column / kPiece)[column % kPiece]);
  }
  /// Asks for rows from `first` on, 0 where there are none and beyond `width`.
  __device__ void copy(const HeadRows<const T>& rows, std::int64_t first, std::int64_t end,
                       std::int64_t width) const {
    constexpr int kPieces = D / kPiece;
    for (int i = static_cast<int>(threadIdx.x); i < kTileRows * kPieces; i += kTileThreads) {
      const int row = i / kPieces, index = i % kPieces;
      const bool valid = first + row < end && index * kPiece < width;
      const T* from = valid ? rows.data + (first + row) * rows.stride + index * kPiece : rows.data;
      copy_async(piece(row, index), from, valid);
    }
  }
};

__device__ inline int lane_of_warp() { return static_cast<int>(threadIdx.x % kWarp); }
__device__ inline int first_row_of_warp() { return static_cast<int>(threadIdx.x / kWarp) * 16; }
/// Row of part[][e] within the tile, and column of part[t][e].
__device__ inline int row_of(int e) {
  return first_row_of_warp() + lane_of_warp() / 4 + 8 * (e / 2);
}
__device__ inline int column_of(int t, int e) { return 8 * t + 2 * (lane_of_warp() % 4) + e % 2; }

/// part += a b^T: the warp's 16 rows of a[64, D] with all rows of b[64, D].
template <int D>
__device__ void multiply_rows(Scores& part, const SharedTile<D, __nv_bfloat16>& a,
                              const SharedTile<D, __nv_bfloat16>& b) {
  const int lane = lane_of_warp();
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
    std::uint32_t left[4];
    load_matrices(left, a.piece(first_row_of_warp() + lane % 16, 2 * k + lane / 16));
#pragma unroll
    for (int t = 0; t < kScoreParts; t += 2) {
      std::uint32_t right[4];
      load_matrices(right, b.piece(8 * t + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
      mma(part[t], left, right[0], right[1]);
      mma(part[t + 1], left, right[2], right[3]);
    }
  }
}
template <int D>
__device__ void multiply_rows(Scores& part, const SharedTile<D, float>& a,
                              const SharedTile<D, float>& b) {
  const int row = row_of(0), column = column_of(0, 0);
#pragma unroll 1
  for (int k = 0; k < D; ++k) {
    const float left[2] = {a.at(row, k), a.at(row + 8, k)};
#pragma unroll
    for (int t = 0; t < kScoreParts; ++t) {
      const float right[2] = {b.at(column + 8 * t, k), b.at(column + 8 * t + 1, k)};
#pragma unroll
      for (int e = 0; e < 4; ++e) part[t][e] += left[e / 2] * right[e % 2];
    }
  }
}

/// Two floats as bf16, the first in the lower half.
__device__ inline std::uint32_t pack_bf16(float lower, float upper) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(lower, upper);
  std::uint32_t bits = 0;
  memcpy(&bits, &pair, sizeof(bits));
  return bits;
}

/// part += p b: the warp's 16 rows of p[64, 64], from registers, with b[64, D].
template <int D>
__device__ void multiply_columns(Columns<D>& part, const Scores& p,
                                 const SharedTile<D, __nv_bfloat16>& b) {
  const int lane = lane_of_warp();
#pragma unroll
  for (int k = 0; k < kTileRows / 16; ++k) {
    const std::uint32_t left[4] = {
        pack_bf16(p[2 * k][0], p[2 * k][1]), pack_bf16(p[2 * k][2], p[2 * k][3]),
        pack_bf16(p[2 * k + 1][0], p[2 * k + 1][1]), pack_bf16(p[2 * k + 1][2], p[2 * k + 1][3])};
#pragma unroll
    for (int t = 0; t < D / 8; t += 2) {
      std::uint32_t right[4];
      load_matrices_transposed(right, b.piece(16 * k + lane % 16, t + lane / 16));
      mma(part[t], left, right[0], right[1]);
      mma(part[t + 1], left, right[2], right[3]);
    }
  }
}
template <int D>
__device__ void multiply_columns(Columns<D>& part, const Scores& p, const SharedTile<D, float>& b) {
  const int quad = lane_of_warp() / 4 * 4, column = column_of(0, 0);
  // Indexed as the loop goes, so not in registers: unrolled it would take half a minute to compile.
  float mine[kScoreParts][4];
  memcpy(mine, p, sizeof(mine));
#pragma unroll 1
  for (int k = 0; k < kTileRows; ++k) {
    const int source = quad + k % 8 / 2;  // the row's lane that has column k
    const float upper = __shfl_sync(kAllLanes, mine[k / 8][k % 2], source);
    const float lower = __shfl_sync(kAllLanes, mine[k / 8][2 + k % 2], source);
#pragma unroll
    for (int t = 0; t < D / 8; ++t) {
      const float right[2] = {b.at(k, column + 8 * t), b.at(k, column + 8 * t + 1)};
#pragma unroll
      for (int e = 0; e < 4; ++e) part[t][e] += (e < 2 ? upper : lower) * right[e % 2];
    }
  }
}

/// f(pointer to two elements of the rows from `first` on, part of the first one, row / 8 % 2).
template <int D, class T, class F>
__device__ void for_my_pairs(const HeadRows<T>& rows, Columns<D>& part, std::int64_t first,
                             std::int64_t end, std::int64_t width, F&& f) {
#pragma unroll
  for (int t = 0; t < D / 8; ++t) {
#pragma unroll
    for (int e = 0; e < 4; e += 2) {
      const std::int64_t row = first + row_of(e), column = column_of(t, e);
      if (row >= end || column >= width) continue;
      f(rows.data + row * rows.stride + column, &part[t][e], e / 2);
    }
  }
}
/// Writes factor[e / 2] part, or adds it to what is there.
template <int D, class T>
__device__ void write_columns(const HeadRows<T>& rows, Columns<D>& part, const float (&factor)[2],
                              std::int64_t first, std::int64_t end, std::int64_t width,
                              bool adds = false) {
  for_my_pairs<D>(rows, part, first, end, width, [&](T* to, const float* x, int line) {
    Floats<2> sum{{x[0] * factor[line], x[1] * factor[line]}};
    if (adds) {
      const Floats<2> before = load<2>(to);
      sum.at[0] += before.at[0], sum.at[1] += before.at[1];
    }
    store(to, sum);
  });
}
/// The part as it was written before.
template <int D, class T>
__device__ void read_columns(Columns<D>& part, const HeadRows<T>& rows, std::int64_t first,
                             std::int64_t end, std::int64_t width) {
  for_my_pairs<D>(rows, part, first, end, width, [](const T* from, float* x, int) {
    const Floats<2> there = load<2>(from);
    x[0] = there.at[0], x[1] = there.at[1];
  });
}

/// Kept elements of dropout: 1 / (1 - p), others 0; 1 without dropout.
struct Keep {
  float scale;
  std::uint32_t threshold;
  bool on;
  Positions keys;
  __device__ Keep(const Dropout& d, const AttentionShape& shape)
      : scale(static_cast<float>(d.scale())),
        threshold(d.threshold()),
        on(d.probability > 0),
        keys(shape.keys_place) {}
  __device__ float operator()(std::uint64_t row_key, std::int64_t column) const {
    const auto position = static_cast<std::uint32_t>(keys(column));
    return dropout_draw(row_key, position) >= threshold ? scale : 0.0F;
  }
};

inline constexpr float kLog2E = 1.44269504088896340736F;

}  // namespace plait::kernels::cuda
