#pragma once
// Sums of activations: residual connections with bias and dropout, and gradient fan-in.

#include <cstdint>

#include "kernels/dropout.h"

namespace plait::kernels {

/// out[rows, width] = a + b (+ bias[width] unless null). `out` may be `a` or `b`.
template <class T>
void add(T* out, const T* a, const T* b, const T* bias, std::int64_t rows, std::int64_t width);

/// Columns of rows that are `stride` elements apart: out[rows, stride] += scale b[rows, width].
template <class T>
void add_scaled(T* out, const T* b, double scale, std::int64_t rows, std::int64_t width,
                std::int64_t stride);

/// db[rows, width] = scale times those columns of dout[rows, stride].
template <class T>
void add_scaled_backward(T* db, const T* dout, double scale, std::int64_t rows, std::int64_t width,
                         std::int64_t stride);

/// out[s, b, width] = a + dropout(b + bias); mask[s, b, width] gets 1 where an element is kept,
/// else 0. bias may be null.
template <class T>
void add_dropout(T* out, std::uint8_t* mask, const T* a, const T* b, const T* bias,
                 std::int64_t sequence, std::int64_t batch, std::int64_t width,
                 const Dropout& dropout);

/// db[elements] = dout mask / (1 - probability).
template <class T>
void add_dropout_backward(T* db, const T* dout, const std::uint8_t* mask, std::int64_t elements,
                          double probability);

}  // namespace plait::kernels
