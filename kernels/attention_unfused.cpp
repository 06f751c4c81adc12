// Forward: S = scale Q K^T; P = softmax(mask(S)); P' = dropout(P); O = P' V, each a whole matrix
// per head; the mask hides other documents too, and what is before a window. Backward goes tile by
// tile, since only P is kept, which is 0 where the mask hides: dV = P'^T dO;
//   dP = dropout(dO V^T);  dS = P (dP - rowsum(dO O));  dQ, dK from dS.

#include "kernels/attention_tile.h"
#include "kernels/exponential.h"

namespace plait::kernels {
namespace {

/// Softmax of the keys first .. visible - 1 in place, 0 elsewhere.
template <class T>
void softmax_row(T* x, std::int64_t first, std::int64_t visible, std::int64_t width) {
  fill(x, T(0), first);
  x += first, visible -= first, width -= first;
  T max = x[0], sum = 0;
#pragma omp simd reduction(max : max)
  for (std::int64_t i = 0; i < visible; ++i) max = x[i] > max ? x[i] : max;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < visible; ++i) {
    x[i] = exponential(x[i] - max);
    sum += x[i];
  }
  const T factor = T(1) / sum;
#pragma omp simd
  for (std::int64_t i = 0; i < visible; ++i) x[i] *= factor;
  fill(x + visible, T(0), width - visible);
}

template <class T>
void dropout_row(std::uint8_t* mask, T* dropped, const T* p, const Dropout& dropout,
                 std::uint64_t key, std::int64_t width) {
  const T scale = static_cast<T>(dropout.scale());
  const std::uint32_t threshold = dropout.threshold();
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    mask[i] = dropout_draw(key, static_cast<std::uint32_t>(i)) >= threshold ? 1 : 0;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) dropped[i] = p[i] * (scale * T(mask[i]));
}

/// kept[c] = scale mask[c], or 1 without a mask.
template <class T>
void read_kept(T* kept, const std::uint8_t* mask, T scale, std::int64_t columns) {
  if (mask == nullptr) return fill(kept, T(1), columns);
#pragma omp simd
  for (std::int64_t c = 0; c < columns; ++c) kept[c] = scale * T(mask[c]);
}

/// The head's matrices of a backward pass. mask.data is null without dropout.
template <class T>
struct Saved {
  Matrix<const T> dout, p;
  Matrix<const std::uint8_t> mask;
  T scale;
};

template <class T>
void backward_tile(const Head<T>& gradient, const Head<const T>& head, const Saved<T>& saved,
                   const T* delta, const Tile& tile, const AttentionShape& shape) {
  T ds[kTile * kTile], kept[kTile];
  blas_gemm<T>(Transposed::kNo, Transposed::kYes, tile.rows, tile.columns, shape.v_dim(), T(1),
               from_row(saved.dout, tile.i0), from_row(head.v, tile.j0), T(0), {ds, kTile});
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const std::int64_t at = (tile.i0 + r) * saved.p.stride + tile.j0;
    const std::uint8_t* mask = saved.mask.data == nullptr ? nullptr : saved.mask.data + at;
    read_kept(kept, mask, saved.scale, tile.columns);
    score_gradient_row(ds + r * kTile, saved.p.data + at, kept, delta[r], tile.visible(shape, r),
                       tile.columns);
  }
  add_query_key_gradient<T>(gradient, head, ds, tile, shape);
}

}  // namespace

template <class T>
void attention_unfused_forward(T* context, T* probabilities, std::uint8_t* mask, T* dropped,
                               PackedOf<const T> rows, const AttentionShape& shape,
                               const Dropout& dropout) {
  const std::int64_t n = shape.sequence, keys = shape.keys();
  for (std::int64_t sample = 0; sample < shape.batch; ++sample) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const Head<const T> head(rows, shape, sample, h);
      const Matrix<T> p = square_of(probabilities, shape, sample, h);
      const Matrix<T> weights = mask == nullptr ? p : square_of(dropped, shape, sample, h);
      blas_gemm<T>(Transposed::kNo, Transposed::kYes, n, keys, shape.head_dim,
                   score_scale<T>(shape), head.q, head.k, T(0), p);
      std::int64_t document = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        T* row = p.data + i * p.stride;
        const std::int64_t position = shape.place(i);
        while (document < shape.documents && shape.bounds[document + 1] <= position) ++document;
        const std::int64_t first = std::max(shape.documents > 0 ? shape.bounds[document] : 0,
                                            keys_out_of_window(shape, position));
        softmax_row(row, first, shape.causal ? position + 1 : keys, keys);
        if (mask == nullptr) continue;
        dropout_row(square_of(mask, shape, sample, h).data + i * p.stride,
                    weights.data + i * p.stride, row, dropout,
                    dropout_row_key(dropout, sample, i, h), keys);
      }
      blas_gemm<T>(Transposed::kNo, Transposed::kNo, n, shape.v_dim(), keys, T(1),
                   {weights.data, weights.stride}, head.v, T(0),
                   context_of(context, shape, sample, h));
    }
  }
}

template <class T>
void attention_unfused_backward(PackedOf<T> gradients, const T* dcontext, PackedOf<const T> rows,
                                const T* context, const T* probabilities, const std::uint8_t* mask,
                                const T* dropped, const AttentionShape& shape, double probability) {
  const std::int64_t n = shape.sequence;
  const T* weights = mask == nullptr ? probabilities : dropped;
  clear(gradients, shape);
  for (std::int64_t sample = 0; sample < shape.batch; ++sample) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const Head<T> gradient(gradients, shape, sample, h);
      const Head<const T> head(rows, shape, sample, h);
      const Matrix<const T> out = context_of(context, shape, sample, h);
      Saved<T> saved{context_of(dcontext, shape, sample, h),
                     square_of(probabilities, shape, sample, h),
                     {nullptr, 0},
                     static_cast<T>(1 / (1 - probability))};
      if (mask != nullptr) saved.mask = square_of(mask, shape, sample, h);
      blas_gemm<T>(Transposed::kYes, Transposed::kNo, shape.keys(), shape.v_dim(), n, T(1),
                   square_of(weights, shape, sample, h), saved.dout, T(1), gradient.v);
      for (std::int64_t i0 = 0; i0 < n; i0 += kTile) {
        T delta[kTile];
        row_dots(delta, from_row(saved.dout, i0), from_row(out, i0), Tile(shape, i0, 0).rows,
                 shape.v_dim());
        const Keys seen = keys_seen(shape, i0);
        for (std::int64_t j0 = seen.first; j0 < seen.end; j0 += kTile) {
          backward_tile(gradient, head, saved, delta, Tile(shape, i0, j0), shape);
        }
      }
    }
  }
}

#define PLAIT_INSTANTIATE(T)                                                                      \
  template void attention_unfused_forward<T>(T*, T*, std::uint8_t*, T*, PackedOf<const T>,        \
                                             const AttentionShape&, const Dropout&);              \
  template void attention_unfused_backward<T>(PackedOf<T>, const T*, PackedOf<const T>, const T*, \
                                              const T*, const std::uint8_t*, const T*,            \
                                              const AttentionShape&, double);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
