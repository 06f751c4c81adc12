// The formulas of kernels/attention_unfused.cpp. Products are batched over the key-value heads,
// once for each sample and each query head of a group; probabilities are whole matrices, in T also
// between a product and the softmax. Backward takes `Chunk` queries at a time: their gradients of
// the scores, for all heads of a sample, lie in the scratch memory.

#include "core/error.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_launch.h"
#include "kernels/cuda/instantiate.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/row_part.h"

namespace plait::kernels::cuda {
namespace {

template <class T>
struct Softmax {
  T* scores;
  std::uint8_t* mask;  // null: no dropout
  T* dropped;
  AttentionShape shape;
  Dropout dropout;
  /// Of a row of scores[s, b, heads, keys].
  __device__ std::int64_t query(std::int64_t row) const {
    return row / (shape.batch * shape.heads);
  }
  __device__ Keys visible(std::int64_t row) const { return keys_of(shape, query(row)); }
  __device__ std::uint64_t key(std::int64_t row) const {
    return dropout_row_key(dropout, row / shape.heads % shape.batch, query(row), row % shape.heads);
  }
};

/// Rows become their softmax over the visible keys, 0 beyond; `dropped` what dropout leaves of it.
template <int V, class T>
__global__ void __launch_bounds__(kMostThreads) softmax_kernel(Softmax<T> s, std::int64_t rows) {
  const std::int64_t keys = s.shape.keys();
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    T* row = s.scores + r * keys;
    const Keys visible = s.visible(r);
    const MyPart<V, T> part(row, keys);
    float max = -INFINITY, sum = 0;
    const auto see = [&](int, std::int64_t column, const Floats<V>& x) {
#pragma unroll
      for (int i = 0; i < V; ++i) max = visible.has(column + i) ? fmaxf(max, x.at[i]) : max;
    };
    for_my_columns(keys, see, part);
    max = reduce_block(max, -INFINITY, Larger{});
    const auto add = [&](int, std::int64_t column, const Floats<V>& x) {
#pragma unroll
      for (int i = 0; i < V; ++i) sum += visible.has(column + i) ? expf(x.at[i] - max) : 0.0F;
    };
    for_my_columns(keys, add, part);
    const float factor = 1.0F / sum_block(sum);
    const std::uint64_t key = s.key(r);
    const std::uint32_t threshold = s.dropout.threshold();
    const auto scale = static_cast<float>(s.dropout.scale());
    const auto write = [&](int, std::int64_t column, Floats<V> x) {
#pragma unroll
      for (int i = 0; i < V; ++i) {
        x.at[i] = visible.has(column + i) ? expf(x.at[i] - max) * factor : 0.0F;
      }
      store(row + column, x);
      if (s.mask == nullptr) return;
      Kept<V> kept;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        kept.at[i] = dropout_draw(key, static_cast<std::uint32_t>(column + i)) >= threshold ? 1 : 0;
        x.at[i] *= scale * static_cast<float>(kept.at[i]);
      }
      store_kept(s.mask + r * keys + column, kept);
      store(s.dropped + r * keys + column, x);
    };
    for_my_columns(keys, write, part);
  }
}

template <class T>
struct ScoreGradient {
  T* scores;  // [queries, heads, keys] of one sample, from query `first` on
  const T *dcontext, *context, *probabilities;
  const std::uint8_t* mask;  // null: no dropout
  AttentionShape shape;
  std::int64_t sample, first;
  float scale;  // of kept elements
};

/// dS = P (dP - dO . O), where dP = kept dP'; replaces dP'.
template <int V, class T>
__global__ void __launch_bounds__(kMostThreads)
    score_gradient_kernel(ScoreGradient<T> g, std::int64_t rows) {
  const std::int64_t keys = g.shape.keys(), heads = g.shape.heads, d = g.shape.v_dim();
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    // The row of tensors [s, b, heads, ...].
    const std::int64_t at = ((g.first + r / heads) * g.shape.batch + g.sample) * heads + r % heads;
    float dot = 0;
    for (std::int64_t i = threadIdx.x; i < d; i += blockDim.x) {
      dot += to_float(g.dcontext[at * d + i]) * to_float(g.context[at * d + i]);
    }
    dot = sum_block(dot);
    T* row = g.scores + r * keys;
    for (std::int64_t column = my_column<V>(0), j = 0; column < keys; column = my_column<V>(++j)) {
      Floats<V> x = load<V>(row + column);
      const Floats<V> p = load<V>(g.probabilities + at * keys + column);
      if (g.mask != nullptr) {
        const Kept<V> kept = load_kept<V>(g.mask + at * keys + column);
#pragma unroll
        for (int i = 0; i < V; ++i) x.at[i] *= g.scale * static_cast<float>(kept.at[i]);
      }
#pragma unroll
      for (int i = 0; i < V; ++i) x.at[i] = p.at[i] * (x.at[i] - dot);
      store(row + column, x);
    }
  }
}

/// Where the matrices of query heads group * n + `member`, n = 0, 1, ..., of one sample lie. Query
/// head h belongs to the key-value head h / group.
template <class T>
struct Member {
  const AttentionShape& shape;
  std::int64_t sample, member;
  std::int64_t group() const { return shape.heads / shape.kv_heads; }
  std::int64_t d() const { return shape.head_dim; }
  std::int64_t e() const { return shape.v_dim(); }

  template <class U>
  Factor queries(Packed<U> rows, std::int64_t first = 0, bool transposed = false) const {
    const std::int64_t width = shape.row_width(), stride = shape.batch * width;
    return factor(rows.qkv + first * stride + sample * width + member * d(), transposed, stride,
                  group() * d());
  }
  template <class U>
  Factor keys(Packed<U> rows, bool transposed) const {
    return of_kv(rows, 0, transposed, d());
  }
  template <class U>
  Factor values(Packed<U> rows, bool transposed) const {
    return of_kv(rows, shape.kv_heads * d(), transposed, e());
  }
  template <class U>
  Factor context(U* rows, std::int64_t first = 0) const {
    const std::int64_t width = shape.heads * e(), stride = shape.batch * width;
    return factor(rows + first * stride + sample * width + member * e(), false, stride,
                  group() * e());
  }
  template <class U>
  Factor square(U* rows, bool transposed = false) const {
    const std::int64_t keys = shape.keys();
    return factor(rows + (sample * shape.heads + member) * keys, transposed,
                  shape.batch * shape.heads * keys, group() * keys);
  }
  /// Of scratch[queries, heads, keys].
  Factor chunk(T* scores, bool transposed = false) const {
    const std::int64_t keys = shape.keys();
    return factor(scores + member * keys, transposed, shape.heads * keys, group() * keys);
  }
  /// Heads of `width` from column `first` on of the rows [k | v].
  template <class U>
  Factor of_kv(Packed<U> rows, std::int64_t first, bool transposed, std::int64_t width) const {
    const std::int64_t row = rows.kv == nullptr ? shape.row_width() : shape.kv_row_width();
    U* kv = rows.kv == nullptr ? rows.qkv + shape.heads * d() : rows.kv;
    return factor(kv + sample * row + first, transposed, shape.batch * row, width);
  }
};
/// A matrix that is written.
Result into(const Factor& f) {
  return {const_cast<void*>(f.data), f.type, f.stride, f.batch_stride};
}
template <class F>
void for_each_member(const AttentionShape& shape, std::int64_t sample, F&& f) {
  for (std::int64_t member = 0; member < shape.heads / shape.kv_heads; ++member) {
    f(sample, member);
  }
}

}  // namespace

template <class T>
void attention_unfused_forward(const Queue& q, T* context, T* probabilities, std::uint8_t* mask,
                               T* dropped, PackedOf<const T> rows, const AttentionShape& shape,
                               const Dropout& dropout) {
  check_keys(shape);
  const std::int64_t n = shape.sequence, keys = shape.keys(), d = shape.head_dim;
  for (std::int64_t sample = 0; sample < shape.batch; ++sample) {
    for_each_member(shape, sample, [&](std::int64_t s, std::int64_t member) {
      const Member<T> m{shape, s, member};
      product(q, {n, keys, d, shape.kv_heads}, score_scale(shape), m.queries(rows),
              m.keys(rows, true), 0, into(m.square(probabilities)));
    });
  }
  constexpr int kWide = kVector<T>;
  const bool vectorised = aligned({probabilities, mask, dropped}) && keys % kWide == 0;
  const std::int64_t score_rows = n * shape.batch * shape.heads;
  const unsigned threads = threads_for_row(vectorised ? keys / kWide : keys);
  auto* kernel = vectorised ? softmax_kernel<kWide, T> : softmax_kernel<1, T>;
  launch(kernel, row_blocks(q, threads, score_rows), threads, 0, q.stream,
         Softmax<T>{probabilities, mask, dropped, shape, dropout}, score_rows);
  for (std::int64_t sample = 0; sample < shape.batch; ++sample) {
    for_each_member(shape, sample, [&](std::int64_t s, std::int64_t member) {
      const Member<T> m{shape, s, member};
      product(q, {n, m.e(), keys, shape.kv_heads}, 1,
              m.square(mask == nullptr ? probabilities : dropped), m.values(rows, false), 0,
              into(m.context(context)));
    });
  }
}

namespace {

template <class T>
class UnfusedBackward {
 public:
  UnfusedBackward(const Queue& q, const AttentionShape& shape, Packed<T> gradients,
                  Packed<const T> rows)
      : q_(q), shape_(shape), gradients_(gradients), rows_(rows) {
    const auto held = static_cast<std::int64_t>(q.kernel_scratch_bytes / sizeof(T));
    chunk_ = std::min(shape.sequence, held / (shape.heads * shape.keys()));
    PLAIT_CHECK(chunk_ > 0,
                "unfused attention: a row of all heads' scores exceeds the scratch memory");
  }

  void run(const ScoreGradient<T>& g, const T* weights) {
    clear_unused_columns(q_, gradients_, shape_);
    for (std::int64_t sample = 0; sample < shape_.batch; ++sample) {
      for_each_member(shape_, sample, [&](std::int64_t s, std::int64_t member) {
        const Member<T> m{shape_, s, member};
        product(q_, {shape_.keys(), m.e(), shape_.sequence, shape_.kv_heads}, 1,
                m.square(weights, true), m.context(g.dcontext), member > 0 ? 1 : 0,
                into(m.values(gradients_, false)));
      });
      for (std::int64_t first = 0; first < shape_.sequence; first += chunk_) {
        run_chunk(g, sample, first, std::min(chunk_, shape_.sequence - first));
      }
    }
  }

 private:
  void run_chunk(ScoreGradient<T> g, std::int64_t sample, std::int64_t first, std::int64_t n) {
    const std::int64_t keys = shape_.keys(), d = shape_.head_dim, batch = shape_.kv_heads;
    auto* scores = static_cast<T*>(q_.scratch);
    for_each_member(shape_, sample, [&](std::int64_t s, std::int64_t member) {
      const Member<T> m{shape_, s, member};
      product(q_, {n, keys, m.e(), batch}, 1, m.context(g.dcontext, first), m.values(rows_, true),
              0, into(m.chunk(scores)));
    });
    g.scores = scores, g.sample = sample, g.first = first;
    constexpr int kWide = kVector<T>;
    const bool vectorised = aligned({g.probabilities, g.mask}) && keys % kWide == 0;
    const unsigned threads = threads_for_row(vectorised ? keys / kWide : keys);
    auto* kernel = vectorised ? score_gradient_kernel<kWide, T> : score_gradient_kernel<1, T>;
    launch(kernel, row_blocks(q_, threads, n * shape_.heads), threads, 0, q_.stream, g,
           n * shape_.heads);
    for_each_member(shape_, sample, [&](std::int64_t s, std::int64_t member) {
      const Member<T> m{shape_, s, member};
      const float scale = score_scale(shape_);
      product(q_, {n, d, keys, batch}, scale, m.chunk(scores), m.keys(rows_, false), 0,
              into(m.queries(gradients_, first)));
      product(q_, {keys, d, n, batch}, scale, m.chunk(scores, true), m.queries(rows_, first),
              first > 0 || member > 0 ? 1 : 0, into(m.keys(gradients_, false)));
    });
  }
  const Queue& q_;
  const AttentionShape& shape_;
  Packed<T> gradients_;
  Packed<const T> rows_;
  std::int64_t chunk_ = 0;
};

}  // namespace

template <class T>
void attention_unfused_backward(const Queue& q, PackedOf<T> gradients, const T* dcontext,
                                PackedOf<const T> rows, const T* context, const T* probabilities,
                                const std::uint8_t* mask, const T* dropped,
                                const AttentionShape& shape, double probability) {
  ScoreGradient<T> g{};
  g.dcontext = dcontext, g.context = context, g.probabilities = probabilities, g.mask = mask;
  g.shape = shape, g.scale = static_cast<float>(1 / (1 - probability));
  UnfusedBackward<T>(q, shape, gradients, rows).run(g, mask == nullptr ? probabilities : dropped);
}

#define PLAIT_INSTANTIATE(T)                                                           \
  template void attention_unfused_forward<T>(const Queue&, T*, T*, std::uint8_t*, T*,  \
                                             PackedOf<const T>, const AttentionShape&, \
                                             const Dropout&);                          \
  template void attention_unfused_backward<T>(                                         \
      const Queue&, PackedOf<T>, const T*, PackedOf<const T>, const T*, const T*,      \
      const std::uint8_t*, const T*, const AttentionShape&, double);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
