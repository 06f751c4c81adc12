// A block has 64 queries of one head and goes through the keys 64 at a time, with the sums of
// kernels/attention_fused.cpp. While scores are multiplied the values of the tile are on their way,
// while values are, the next tile's keys.

#include <cmath>

#include "kernels/cuda/attention_launch.h"
#include "kernels/cuda/instantiate.h"

namespace plait::kernels::cuda {
namespace {

/// What a lane knows of its two rows: the largest score, the sum of exponentials, and dropout's
/// key.
struct RowState {
  float max[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
  Keys visible[2];
  std::uint64_t key[2] = {0, 0};
};

/// Scores become exponentials relative to the new maxima, dropped out; what has been summed up is
/// brought to them. `scale` takes products to powers of two. Of a row whose document begins in a
/// later tile there is no maximum yet.
template <int E>
__device__ void soften(Scores& s, Columns<E>& out, RowState& rows, const Keep& keep, float scale,
                       std::int64_t j0) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float max = rows.max[half];
    const Visible visible = rows.visible[half].in_tile(j0);
#pragma unroll
    for (int t = 0; t < kScoreParts; ++t) {
#pragma unroll
      for (int e = 2 * half; e < 2 * half + 2; ++e) {
        if (!visible(column_of(t, e))) s[t][e] = -INFINITY;
        max = fmaxf(max, s[t][e]);
      }
    }
    max = fmaxf(max, __shfl_xor_sync(kAllLanes, max, 1));  // the row's other lanes
    max = fmaxf(max, __shfl_xor_sync(kAllLanes, max, 2));
    const float shift = max == -INFINITY ? 0.0F : max;
    const float correction = exp2f((rows.max[half] - shift) * scale);
    rows.max[half] = max;
    rows.sum[half] *= correction;
#pragma unroll
    for (int t = 0; t < E / 8; ++t) {
      out[t][2 * half] *= correction, out[t][2 * half + 1] *= correction;
    }
#pragma unroll
    for (int t = 0; t < kScoreParts; ++t) {
#pragma unroll
      for (int e = 2 * half; e < 2 * half + 2; ++e) {
        s[t][e] = exp2f((s[t][e] - shift) * scale);
        rows.sum[half] += s[t][e];
        if (keep.on) s[t][e] *= keep(rows.key[half], j0 + column_of(t, e));
      }
    }
  }
}

template <int D, int E, class T>
__global__ void __launch_bounds__(kTileThreads)
    forward_kernel(T* context, float* log_sum_exp, Packed<const T> packed, AttentionShape shape,
                   Dropout dropout, float scale) {
  const std::int64_t i0 = std::int64_t{gridDim.x - 1 - blockIdx.x} * kTileRows;  // long ones first
  const std::int64_t head = blockIdx.y, sample = blockIdx.z;
  const std::int64_t d = shape.head_dim, e = shape.v_dim();
  const HeadOf<const T> rows(packed, shape, sample, head);
  const HeadRows<T> results = context_rows(context, shape, sample, head);
  T* memory = dynamic_shared<T>();
  constexpr int kTileElements = SharedTile<D, T>::kElements;
  const SharedTile<D, T> q{memory}, k{memory + kTileElements};
  const SharedTile<E, T> v{memory + 2 * kTileElements};
  const std::int64_t keys = shape.keys();
  const Keys seen = keys_of_tile(shape, i0);
  q.copy(rows.q, i0, shape.sequence, d);
  k.copy(rows.k, seen.first_tile(), keys, d);
  commit_copies();

  const Keep keep(dropout, shape);
  RowState state;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t row = i0 + row_of(2 * half);
    state.visible[half] = keys_of(shape, row);
    if (keep.on) state.key[half] = dropout_row_key(dropout, sample, row, head);
    if (!shape.merges || row >= shape.sequence) continue;
    // What is there counts as one key of that score.
    state.max[half] = log_sum_exp[statistic(shape, row, sample, head)] / scale;
    state.sum[half] = lane_of_warp() % 4 == 0 ? 1.0F : 0.0F;
  }
  Columns<E> out = {};
  if (shape.merges) read_columns<E>(out, results, i0, shape.sequence, e);
  for (std::int64_t j0 = seen.first_tile(); j0 < seen.end; j0 += kTileRows) {
    v.copy(rows.v, j0, keys, e);
    commit_copies();
    wait_for_copies<1>();
    __syncthreads();  // queries and keys are there
    Scores s = {};
    multiply_rows(s, q, k);
    __syncthreads();  // keys have been read
    if (j0 + kTileRows < seen.end) k.copy(rows.k, j0 + kTileRows, keys, d);
    commit_copies();
    soften<E>(s, out, state, keep, scale * kLog2E, j0);
    wait_for_copies<1>();
    __syncthreads();  // values are there
    multiply_columns<E>(out, s, v);
    __syncthreads();  // values have been read
  }
  wait_for_copies<0>();  // of a tile that sees no key

  float factor[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = state.sum[half];
    sum += __shfl_xor_sync(kAllLanes, sum, 1);
    sum += __shfl_xor_sync(kAllLanes, sum, 2);
    factor[half] = 1.0F / sum;
    const std::int64_t row = i0 + row_of(2 * half);
    if (lane_of_warp() % 4 == 0 && row < shape.sequence) {
      log_sum_exp[statistic(shape, row, sample, head)] = state.max[half] * scale + logf(sum);
    }
  }
  write_columns<E>(results, out, factor, i0, shape.sequence, e);
}

}  // namespace

template <class T>
void attention_fused_forward(const Queue& q, T* context, float* log_sum_exp, PackedOf<const T> rows,
                             const AttentionShape& shape, const Dropout& dropout) {
  check_fused(shape, aligned({context, rows.qkv, rows.kv}));
  with_widths<T>(shape, [&](auto keys, auto values) {
    constexpr int D = decltype(keys)::value, E = decltype(values)::value;
    constexpr std::size_t kShared =
        (2 * SharedTile<D, T>::kElements + SharedTile<E, T>::kElements) * sizeof(T);
    launch(forward_kernel<D, E, T>, tiles_of(shape.sequence, shape.heads, shape.batch),
           kTileThreads, kShared, q.stream, context, log_sum_exp, rows, shape, dropout,
           score_scale(shape));
  });
}

#define PLAIT_INSTANTIATE(T)                                                            \
  template void attention_fused_forward<T>(const Queue&, T*, float*, PackedOf<const T>, \
                                           const AttentionShape&, const Dropout&);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
