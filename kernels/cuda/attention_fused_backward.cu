// Three passes, each of which owns what it writes, so that nothing is added up atomically:
//   delta[i] = dO_i . O_i
//   per 64 keys, over the queries of all heads that share them:  dV += P'^T dO,  dK += dS^T Q
//   per 64 queries of a head, over the keys:                     dQ += dS K
// with P = e^(S - log_sum_exp) computed again in both and dS = P (dP - delta), as in
// kernels/attention_fused.cpp. The second pass multiplies transposed tiles (keys in rows), so that
// P'^T and dS^T are where the next products want them: in registers.

#include "kernels/cuda/attention_launch.h"
#include "kernels/cuda/instantiate.h"

namespace plait::kernels::cuda {
namespace {

template <class T>
struct Backward {
  Packed<T> gradients;
  const T* dcontext;
  Packed<const T> packed;
  const T* context;
  const float* log_sum_exp;
  float* delta;  // [s, b, heads]
  AttentionShape shape;
  Dropout dropout;
  float scale;
};

/// delta, a warp to each query and head: rows of v_dim elements one behind the other.
template <class T>
__global__ void __launch_bounds__(kBlock) delta_kernel(Backward<T> b, std::int64_t rows) {
  const std::int64_t d = b.shape.v_dim(), lane = threadIdx.x % kWarp;
  const std::int64_t warps = std::int64_t{gridDim.x} * (kBlock / kWarp);
  for (std::int64_t r = std::int64_t{blockIdx.x} * (kBlock / kWarp) + threadIdx.x / kWarp; r < rows;
       r += warps) {
    float sum = 0;
    for (std::int64_t i = 2 * lane; i < d; i += 2 * kWarp) {
      const Floats<2> x = load<2>(b.dcontext + r * d + i), y = load<2>(b.context + r * d + i);
      sum += x.at[0] * y.at[0] + x.at[1] * y.at[1];
    }
    sum = reduce_warp(sum, Plus{});
    if (lane == 0) b.delta[r] = sum;
  }
}

/// One element: given s = q . k and dp' = dO . v, P' and dS.
struct ScoreGradient {
  float scale;
  Keep keep;
  __device__ void operator()(float& s, float& dp, bool visible, float log_sum_exp, float delta,
                             std::uint64_t key, std::int64_t column) const {
    const float p = visible ? exp2f((s * scale - log_sum_exp) * kLog2E) : 0.0F;
    const float kept = keep.on ? keep(key, column) : 1.0F;
    dp = p * (dp * kept - delta);
    s = p * kept;
  }
};

/// What the second pass needs of each query of a tile.
struct QueryFacts {
  float log_sum_exp, delta;
  Visible visible;  // of the tile's 64 keys
  std::uint64_t key;
};
template <class T>
__device__ void gather_facts(QueryFacts* facts, const Backward<T>& b, std::int64_t sample,
                             std::int64_t head, std::int64_t i0, std::int64_t j0) {
  for (int r = static_cast<int>(threadIdx.x); r < kTileRows; r += kTileThreads) {
    const std::int64_t row = i0 + r;
    QueryFacts& f = facts[r];
    f = {0, 0, {}, 0};
    if (row >= b.shape.sequence) continue;
    const std::int64_t at = statistic(b.shape, row, sample, head);
    f.log_sum_exp = b.log_sum_exp[at], f.delta = b.delta[at];
    f.visible = keys_of(b.shape, row).in_tile(j0);
    if (b.dropout.probability > 0) f.key = dropout_row_key(b.dropout, sample, row, head);
  }
}

template <int D, int E, class T>
__global__ void __launch_bounds__(kTileThreads) keys_kernel(Backward<T> b) {
  const AttentionShape& shape = b.shape;
  const std::int64_t j0 = std::int64_t{blockIdx.x} * kTileRows;
  const std::int64_t d = shape.head_dim, e = shape.v_dim();
  const std::int64_t kv_head = blockIdx.y, sample = blockIdx.z, keys = shape.keys();
  const std::int64_t group = shape.heads / shape.kv_heads;
  __shared__ QueryFacts facts[kTileRows];
  T* memory = dynamic_shared<T>();
  constexpr int kTileElements = SharedTile<D, T>::kElements;
  const SharedTile<D, T> k{memory}, q{memory + kTileElements};
  const SharedTile<E, T> v{memory + 2 * kTileElements}, dout{v.data + SharedTile<E, T>::kElements};
  const HeadOf<const T> of_keys(b.packed, shape, sample, kv_head * group);
  k.copy(of_keys.k, j0, keys, d);
  v.copy(of_keys.v, j0, keys, e);

  const ScoreGradient gradient{b.scale, Keep(b.dropout, shape)};
  Columns<D> dk = {};
  Columns<E> dv = {};
  for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    const HeadOf<const T> rows(b.packed, shape, sample, head);
    const HeadRows<const T> douts = context_rows(b.dcontext, shape, sample, head);
    for (std::int64_t i0 = 0; i0 < shape.sequence; i0 += kTileRows) {
      if (!keys_of_tile(shape, i0).meet(j0)) continue;
      __syncthreads();  // the tiles before have been read
      q.copy(rows.q, i0, shape.sequence, d);
      dout.copy(douts, i0, shape.sequence, e);
      commit_copies();
      gather_facts(facts, b, sample, head, i0, j0);
      wait_for_copies<0>();
      __syncthreads();
      Scores s = {}, ds = {};
      multiply_rows(s, k, q);
      multiply_rows(ds, v, dout);
#pragma unroll
      for (int t = 0; t < kScoreParts; ++t) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const QueryFacts& f = facts[column_of(t, i)];
          gradient(s[t][i], ds[t][i], f.visible(row_of(i)), f.log_sum_exp, f.delta, f.key,
                   j0 + row_of(i));
        }
      }
      multiply_columns<E>(dv, s, dout);
      multiply_columns<D>(dk, ds, q);
    }
  }
  wait_for_copies<0>();
  const HeadOf<T> out(b.gradients, shape, sample, kv_head * group);
  write_columns<D>(out.k, dk, {b.scale, b.scale}, j0, keys, d);
  write_columns<E>(out.v, dv, {1, 1}, j0, keys, e);
}

template <int D, int E, class T>
__global__ void __launch_bounds__(kTileThreads) queries_kernel(Backward<T> b) {
  const AttentionShape& shape = b.shape;
  const std::int64_t i0 = std::int64_t{gridDim.x - 1 - blockIdx.x} * kTileRows;
  const std::int64_t head = blockIdx.y, sample = blockIdx.z;
  const std::int64_t d = shape.head_dim, e = shape.v_dim();
  const HeadOf<const T> rows(b.packed, shape, sample, head);
  T* memory = dynamic_shared<T>();
  constexpr int kTileElements = SharedTile<D, T>::kElements;
  const SharedTile<D, T> q{memory}, k{memory + kTileElements};
  const SharedTile<E, T> dout{memory + 2 * kTileElements},
      v{dout.data + SharedTile<E, T>::kElements};
  q.copy(rows.q, i0, shape.sequence, d);
  dout.copy(context_rows(b.dcontext, shape, sample, head), i0, shape.sequence, e);

  const ScoreGradient gradient{b.scale, Keep(b.dropout, shape)};
  float log_sum_exp[2] = {0, 0}, delta[2] = {0, 0};
  Keys visible[2];
  std::uint64_t key[2] = {0, 0};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t row = i0 + row_of(2 * half);
    if (row >= shape.sequence) continue;
    const std::int64_t at = statistic(shape, row, sample, head);
    log_sum_exp[half] = b.log_sum_exp[at], delta[half] = b.delta[at];
    visible[half] = keys_of(shape, row);
    if (b.dropout.probability > 0) key[half] = dropout_row_key(b.dropout, sample, row, head);
  }
  Columns<D> dq = {};
  const Keys seen = keys_of_tile(shape, i0);
  for (std::int64_t j0 = seen.first_tile(); j0 < seen.end; j0 += kTileRows) {
    __syncthreads();  // the tiles before have been read
    k.copy(rows.k, j0, shape.keys(), d);
    v.copy(rows.v, j0, shape.keys(), e);
    commit_copies();
    wait_for_copies<0>();
    __syncthreads();
    const Visible columns[2] = {visible[0].in_tile(j0), visible[1].in_tile(j0)};
    Scores s = {}, ds = {};
    multiply_rows(s, q, k);
    multiply_rows(ds, dout, v);
#pragma unroll
    for (int t = 0; t < kScoreParts; ++t) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        gradient(s[t][i], ds[t][i], columns[i / 2](column_of(t, i)), log_sum_exp[i / 2],
                 delta[i / 2], key[i / 2], j0 + column_of(t, i));
      }
    }
    multiply_columns<D>(dq, ds, k);
  }
  const HeadOf<T> out(b.gradients, shape, sample, head);
  write_columns<D>(out.q, dq, {b.scale, b.scale}, i0, shape.sequence, d, shape.merges);
}

template <class T>
void run(const Queue& q, const Backward<T>& b) {
  const AttentionShape& shape = b.shape;
  const std::int64_t rows = shape.sequence * shape.batch * shape.heads;
  launch(delta_kernel<T>, blocks_for(q, ceil_div(rows, kBlock / kWarp)), kBlock, 0, q.stream, b,
         rows);
  with_widths<T>(shape, [&](auto keys, auto values) {
    constexpr int D = decltype(keys)::value, E = decltype(values)::value;
    constexpr std::size_t kShared =
        2 * (SharedTile<D, T>::kElements + SharedTile<E, T>::kElements) * sizeof(T);
    launch(keys_kernel<D, E, T>, tiles_of(shape.keys(), shape.kv_heads, shape.batch), kTileThreads,
           kShared, q.stream, b);
    launch(queries_kernel<D, E, T>, tiles_of(shape.sequence, shape.heads, shape.batch),
           kTileThreads, kShared, q.stream, b);
  });
}

}  // namespace

template <class T>
void attention_fused_backward(const Queue& q, PackedOf<T> gradients, const T* dcontext,
                              PackedOf<const T> rows, const T* context, const float* log_sum_exp,
                              const AttentionShape& shape, const Dropout& dropout) {
  check_fused(shape, aligned({gradients.qkv, gradients.kv, dcontext, rows.qkv, rows.kv, context}));
  PLAIT_CHECK(shape.sequence * shape.batch * shape.heads <=
                  static_cast<std::int64_t>(q.kernel_scratch_bytes / sizeof(float)),
              "fused attention: more queries and heads than the scratch memory holds");
  clear_unused_columns(q, gradients, shape);
  run(q, Backward<T>{gradients, dcontext, rows, context, log_sum_exp,
                     static_cast<float*>(q.scratch), shape, dropout, score_scale(shape)});
}

#define PLAIT_INSTANTIATE(T)                                                           \
  template void attention_fused_backward<T>(const Queue&, PackedOf<T>, const T*,       \
                                            PackedOf<const T>, const T*, const float*, \
                                            const AttentionShape&, const Dropout&);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
