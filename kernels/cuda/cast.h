#pragma once
// Conversions and copies on the device: kernels/cast.h, and rows of different widths or order.

#include <cuda_fp8.h>

#include "kernels/cuda/queue.h"
#include "kernels/positions.h"

namespace plait::kernels::cuda {

/// out[elements] = in[elements], rounded to nearest, ties to even; for all pairs of float and bf16,
/// and fp16 from and to float.
template <class To, class From>
void cast(const Queue& q, To* out, const From* in, std::int64_t elements);

/// out[r, 0 .. columns] = in[r, 0 .. columns] of rows of other widths; `out` and `in` point to the
/// first column that is copied.
template <class T>
void copy_columns(const Queue& q, T* out, std::int64_t out_width, const T* in,
                  std::int64_t in_width, std::int64_t rows, std::int64_t columns);

/// out[b, a, width] = in[a, b, width].
template <class T>
void exchange_dimensions(const Queue& q, T* out, const T* in, std::int64_t a, std::int64_t b,
                         std::int64_t width);

/// out[r] = in[place(r)] for rows of `width` elements (gather), or out[place(r)] = in[r] (scatter).
template <class T>
void gather_rows(const Queue& q, T* out, const T* in, const Positions& place, std::int64_t rows,
                 std::int64_t width);
template <class T>
void scatter_rows(const Queue& q, T* out, const T* in, const Positions& place, std::int64_t rows,
                  std::int64_t width);

/// fp8 copies of in[rows, columns], F = e4m3 (largest number 448) or e5m2 (57344), T = float or
/// bf16: with a the largest magnitude and s = largest / a (1 where a = 0)
///   out[rows, columns] = s in,  out_transposed[columns, rows] = s in^T,  inverse_scale[1] = 1 / s.
/// out_transposed may be null.
template <class F, class T>
void cast_fp8(const Queue& q, F* out, F* out_transposed, float* inverse_scale, const T* in,
              std::int64_t rows, std::int64_t columns);

/// out[columns, rows] = in[rows, columns]^T of an fp8 matrix: cuBLASLt wants the operands of every
/// fp8 product to lie along k.
template <class F>
void transpose(const Queue& q, F* out, const F* in, std::int64_t rows, std::int64_t columns);

}  // namespace plait::kernels::cuda
