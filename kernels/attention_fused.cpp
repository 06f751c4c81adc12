// Forward, for a block of queries, key tile by key tile (Dao et al. 2022, algorithm 2):
//   S = scale Q K^T;  m' = max(m, rowmax S);  P = e^(S - m')
//   l = l e^(m - m') + rowsum P;  O = O e^(m - m') + dropout(P) V;  m = m'
// and at the end O /= l, log_sum_exp = m + log l. Where results are merged with earlier ones, O is
// there to begin with, m is its log_sum_exp and l is 1.
// Backward, tile by tile (algorithm 4): P = e^(S - log_sum_exp), then
//   dV += dropout(P)^T dO;  dP = dropout(dO V^T);  dS = P (dP - rowsum(dO O));  dQ, dK from dS.

#include <algorithm>
#include <limits>

#include "kernels/attention_tile.h"
#include "kernels/exponential.h"

namespace plait::kernels {
namespace {

/// kept[c] = 0 or 1 / (1 - p) for the keys from j0 on of one query.
template <class T>
void draw_kept(T* kept, const Dropout& dropout, std::uint64_t key, const Positions& keys,
               std::int64_t j0, std::int64_t columns) {
  const T scale = static_cast<T>(dropout.scale());
  const std::uint32_t threshold = dropout.threshold();
#pragma omp simd
  for (std::int64_t c = 0; c < columns; ++c) {
    const auto position = static_cast<std::uint32_t>(keys(j0 + c));
    kept[c] = dropout_draw(key, position) >= threshold ? scale : T(0);
  }
}

template <class T>
void multiply(T* x, const T* by, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) x[i] *= by[i];
}
template <class T>
void multiply(T* x, T by, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) x[i] *= by;
}

/// x becomes e^(x - shift) over the visible keys and 0 elsewhere; returns the sum.
template <class T>
T exponentiate_row(T* x, T shift, Keys visible, std::int64_t columns) {
  T sum = 0;
  fill(x, T(0), visible.first);
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = visible.first; c < visible.end; ++c) {
    x[c] = exponential(x[c] - shift);
    sum += x[c];
  }
  fill(x + visible.end, T(0), columns - visible.end);
  return sum;
}

template <class T>
T largest_of(const T* x, T start, Keys visible) {
#pragma omp simd reduction(max : start)
  for (std::int64_t i = visible.first; i < visible.end; ++i) start = x[i] > start ? x[i] : start;
  return start;
}

template <class T>
void scores(T* s, const Head<const T>& head, const Tile& tile, const AttentionShape& shape) {
  blas_gemm<T>(Transposed::kNo, Transposed::kYes, tile.rows, tile.columns, shape.head_dim,
               score_scale<T>(shape), from_row(head.q, tile.i0), from_row(head.k, tile.j0), T(0),
               {s, kTile});
}

/// Forward pass of the queries i0 .. i0 + kTile of one head.
template <class T>
class QueryBlock {
 public:
  QueryBlock(const AttentionShape& shape, const Dropout& dropout, std::int64_t sample,
             std::int64_t head, std::int64_t i0)
      : shape_(shape), dropout_(dropout), sample_(sample), head_(head), i0_(i0) {
    std::fill_n(max_, kTile, std::numeric_limits<T>::lowest());
    std::fill_n(sum_, kTile, T(0));
  }
  /// Continues from the results of other keys.
  void resume(const T* log_sum_exp, std::int64_t stride) {
    const std::int64_t rows = std::min(kTile, shape_.sequence - i0_);
    for (std::int64_t r = 0; r < rows; ++r) max_[r] = log_sum_exp[r * stride], sum_[r] = 1;
    begun_ = true;
  }

  void add_keys(const Head<const T>& head, std::int64_t j0, Matrix<T> out) {
    const Tile tile(shape_, i0_, j0);
    scores(p_, head, tile, shape_);
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      const T correction = softmax_row(tile, r);
      if (begun_) multiply(out.data + r * out.stride, correction, shape_.v_dim());
    }
    blas_gemm<T>(Transposed::kNo, Transposed::kNo, tile.rows, shape_.v_dim(), tile.columns, T(1),
                 {p_, kTile}, from_row(head.v, j0), begun_ ? T(1) : T(0), out);
    begun_ = true;
  }
  /// log_sum_exp points to the block's first query; queries are `stride` apart.
  void finish(Matrix<T> out, T* log_sum_exp, std::int64_t stride) {
    const std::int64_t rows = std::min(kTile, shape_.sequence - i0_);
    for (std::int64_t r = 0; r < rows; ++r) {
      multiply(out.data + r * out.stride, T(1) / sum_[r], shape_.v_dim());
      log_sum_exp[r * stride] = max_[r] + std::log(sum_[r]);
    }
  }

 private:
  /// Row of scores to dropped probabilities relative to the new maximum; returns the factor for
  /// what has been summed up relative to the old one.
  T softmax_row(const Tile& tile, std::int64_t r) {
    T* row = p_ + r * kTile;
    const Keys visible = tile.visible(shape_, r);
    const T max = largest_of(row, max_[r], visible);
    const T correction = exponential(max_[r] - max);
    sum_[r] = sum_[r] * correction + exponentiate_row(row, max, visible, tile.columns);
    max_[r] = max;
    if (dropout_.probability > 0) {
      T kept[kTile];
      draw_kept(kept, dropout_, dropout_row_key(dropout_, sample_, i0_ + r, head_),
                shape_.keys_place, tile.j0, tile.columns);
      multiply(row, kept, tile.columns);
    }
    return correction;
  }

  const AttentionShape& shape_;
  const Dropout& dropout_;
  std::int64_t sample_, head_, i0_;
  bool begun_ = false;  // there are results of other keys
  T max_[kTile], sum_[kTile], p_[kTile * kTile];
};

/// Backward pass of one tile; `delta` and `log_sum_exp` belong to its queries.
template <class T>
class BackwardTile {
 public:
  BackwardTile(const AttentionShape& shape, const Dropout& dropout, std::int64_t sample,
               std::int64_t head)
      : shape_(shape), dropout_(dropout), sample_(sample), head_(head) {
    std::fill_n(kept_, kTile, T(1));
  }

  void run(const Head<T>& gradient, const Head<const T>& head, Matrix<const T> dout,
           const T* log_sum_exp, std::int64_t stride, const T* delta, const Tile& tile) {
    const Matrix<const T> d = from_row(dout, tile.i0);
    scores(p_, head, tile, shape_);
    blas_gemm<T>(Transposed::kNo, Transposed::kYes, tile.rows, tile.columns, shape_.v_dim(), T(1),
                 d, from_row(head.v, tile.j0), T(0), {ds_, kTile});
    for (std::int64_t r = 0; r < tile.rows; ++r) row(log_sum_exp[r * stride], delta[r], tile, r);
    blas_gemm<T>(Transposed::kYes, Transposed::kNo, tile.columns, shape_.v_dim(), tile.rows, T(1),
                 {p_, kTile}, d, T(1), from_row(gradient.v, tile.j0));
    add_query_key_gradient(gradient, head, ds_, tile, shape_);
  }

 private:
  void row(T log_sum_exp, T delta, const Tile& tile, std::int64_t r) {
    T* p = p_ + r * kTile;
    const Keys visible = tile.visible(shape_, r);
    exponentiate_row(p, log_sum_exp, visible, tile.columns);
    if (dropout_.probability > 0) {
      draw_kept(kept_, dropout_, dropout_row_key(dropout_, sample_, tile.i0 + r, head_),
                shape_.keys_place, tile.j0, tile.columns);
    }
    score_gradient_row(ds_ + r * kTile, p, kept_, delta, visible, tile.columns);
    multiply(p, kept_, tile.columns);
  }

  const AttentionShape& shape_;
  const Dropout& dropout_;
  std::int64_t sample_, head_;
  T kept_[kTile], p_[kTile * kTile], ds_[kTile * kTile];
};

/// The whole sequence.
template <class T>
void forward_of(T* context, T* log_sum_exp, PackedOf<const T> rows, const AttentionShape& shape,
                const Dropout& dropout) {
  const std::int64_t stride = shape.batch * shape.heads;  // between the log_sum_exp of two queries
  for (std::int64_t sample = 0; sample < shape.batch; ++sample) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const Head<const T> head(rows, shape, sample, h);
      const Matrix<T> out = context_of(context, shape, sample, h);
      for (std::int64_t i0 = 0; i0 < shape.sequence; i0 += kTile) {
        QueryBlock<T> block(shape, dropout, sample, h, i0);
        const Matrix<T> block_out = from_row(out, i0);
        T* block_lse = log_sum_exp + i0 * stride + sample * shape.heads + h;
        if (shape.merges) block.resume(block_lse, stride);
        const Keys seen = keys_seen(shape, i0);
        for (std::int64_t j0 = seen.first; j0 < seen.end; j0 += kTile) {
          block.add_keys(head, j0, block_out);
        }
        block.finish(block_out, block_lse, stride);
      }
    }
  }
}

/// Adds to the gradients.
template <class T>
void backward_of(PackedOf<T> gradients, const T* dcontext, PackedOf<const T> rows, const T* context,
                 const T* log_sum_exp, const AttentionShape& shape, const Dropout& dropout) {
  const std::int64_t stride = shape.batch * shape.heads;
  for (std::int64_t sample = 0; sample < shape.batch; ++sample) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const Head<T> gradient(gradients, shape, sample, h);
      const Head<const T> head(rows, shape, sample, h);
      const Matrix<const T> dout = context_of(dcontext, shape, sample, h);
      const Matrix<const T> out = context_of(context, shape, sample, h);
      BackwardTile<T> backward(shape, dropout, sample, h);
      for (std::int64_t i0 = 0; i0 < shape.sequence; i0 += kTile) {
        T delta[kTile];
        row_dots(delta, from_row(dout, i0), from_row(out, i0), Tile(shape, i0, 0).rows,
                 shape.v_dim());
        const T* block_lse = log_sum_exp + i0 * stride + sample * shape.heads + h;
        const Keys seen = keys_seen(shape, i0);
        for (std::int64_t j0 = seen.first; j0 < seen.end; j0 += kTile) {
          backward.run(gradient, head, dout, block_lse, stride, delta, Tile(shape, i0, j0));
        }
      }
    }
  }
}

/// Neighbouring queries of one document as attention by itself, and where its first element stands
/// in the operands.
struct DocumentPart {
  AttentionShape shape;
  Dropout dropout;
  std::int64_t qkv, kv, context, log_sum_exp;

  /// Rows first .. first + n - 1 of `whole`, of a document that begins at `begin`.
  DocumentPart(const AttentionShape& whole, const Dropout& d, std::int64_t first, std::int64_t n,
               std::int64_t begin)
      : shape(whole), dropout(d) {
    const std::int64_t position = whole.place(first), rows = first * whole.batch;
    shape.documents = 0, shape.sequence = n;
    shape.place = dropout.place = {.first = position}, shape.keys_place = {.first = begin};
    if (whole.other_keys > 0) shape.other_keys = position + n - begin;
    qkv = rows * whole.row_width(), kv = begin * whole.batch * whole.kv_row_width();
    log_sum_exp = rows * whole.heads, context = log_sum_exp * whole.v_dim();
  }
  template <class T>
  Packed<T> of(const Packed<T>& all) const {
    return {all.qkv + qkv, all.kv == nullptr ? nullptr : all.kv + kv};
  }
};

template <class F>
void for_each_part(const AttentionShape& s, const Dropout& dropout, F&& attend) {
  std::int64_t document = 0;
  for (std::int64_t first = 0, n = 0; first < s.sequence; first += n) {
    const std::int64_t position = s.place(first);
    while (s.bounds[document + 1] <= position) ++document;
    const std::int64_t end = first < s.place.turn ? std::min(s.place.turn, s.sequence) : s.sequence;
    n = std::min(end - first, s.bounds[document + 1] - position);
    attend(DocumentPart(s, dropout, first, n, s.bounds[document]));
  }
}

}  // namespace

template <class T>
void attention_fused_forward(T* context, T* log_sum_exp, PackedOf<const T> rows,
                             const AttentionShape& shape, const Dropout& dropout) {
  if (shape.documents == 0) return forward_of(context, log_sum_exp, rows, shape, dropout);
  for_each_part(shape, dropout, [&](const DocumentPart& part) {
    forward_of<T>(context + part.context, log_sum_exp + part.log_sum_exp, part.of(rows), part.shape,
                  part.dropout);
  });
}

template <class T>
void attention_fused_backward(PackedOf<T> gradients, const T* dcontext, PackedOf<const T> rows,
                              const T* context, const T* log_sum_exp, const AttentionShape& shape,
                              const Dropout& dropout) {
  clear(gradients, shape);
  if (shape.documents == 0) {
    return backward_of<T>(gradients, dcontext, rows, context, log_sum_exp, shape, dropout);
  }
  for_each_part(shape, dropout, [&](const DocumentPart& part) {
    backward_of<T>(part.of(gradients), dcontext + part.context, part.of(rows),
                   context + part.context, log_sum_exp + part.log_sum_exp, part.shape,
                   part.dropout);
  });
}

#define PLAIT_INSTANTIATE(T)                                                                    \
  template void attention_fused_forward<T>(T*, T*, PackedOf<const T>, const AttentionShape&,    \
                                           const Dropout&);                                     \
  template void attention_fused_backward<T>(PackedOf<T>, const T*, PackedOf<const T>, const T*, \
                                            const T*, const AttentionShape&, const Dropout&);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
