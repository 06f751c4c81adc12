#pragma once
// Sums of activations on the device: kernels/add.h, T = float, bf16 or fp16.

#include "kernels/add.h"
#include "kernels/cuda/queue.h"

namespace plait::kernels::cuda {

/// out[rows, width] = a + b (+ bias[width] unless null). `out` may be `a` or `b`.
template <class T>
void add(const Queue& q, T* out, const T* a, const T* b, const T* bias, std::int64_t rows,
         std::int64_t width);

/// out[elements] += in, where in may be of another type.
template <class To, class From>
void accumulate(const Queue& q, To* out, const From* in, std::int64_t elements);

/// out[elements] = the larger of out and in.
void take_larger(const Queue& q, float* out, const float* in, std::int64_t elements);

/// Columns of rows that are `stride` elements apart: out[rows, stride] += scale b[rows, width].
template <class T>
void add_scaled(const Queue& q, T* out, const T* b, double scale, std::int64_t rows,
                std::int64_t width, std::int64_t stride);

/// db[rows, width] = scale times those columns of dout[rows, stride].
template <class T>
void add_scaled_backward(const Queue& q, T* db, const T* dout, double scale, std::int64_t rows,
                         std::int64_t width, std::int64_t stride);

/// out[s, b, width] = a + dropout(b + bias); mask[s, b, width] gets 1 where an element is kept,
/// else 0. bias may be null.
template <class T>
void add_dropout(const Queue& q, T* out, std::uint8_t* mask, const T* a, const T* b, const T* bias,
                 std::int64_t sequence, std::int64_t batch, std::int64_t width,
                 const Dropout& dropout);

/// db[elements] = dout mask / (1 - probability).
template <class T>
void add_dropout_backward(const Queue& q, T* db, const T* dout, const std::uint8_t* mask,
                          std::int64_t elements, double probability);

}  // namespace plait::kernels::cuda
