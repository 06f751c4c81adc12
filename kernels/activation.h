#pragma once
// The MLP's nonlinearity, plain or gated (Shazeer 2020, GLU variants).
//   gelu  x (1 + tanh(c (x + 0.044715 x^3))) / 2, c = sqrt(2 / pi)   (Hendrycks and Gimpel 2016)
//   silu  x / (1 + e^-x)
//   relu  max(x, 0)

#include <cstdint>

namespace plait::kernels {

enum class Nonlinearity : std::uint8_t { kGelu, kSilu, kRelu };

/// y[rows, width] = f(x[rows, width]); gated: f(x[rows, 0 .. width]) x[rows, width .. 2 width].
template <class T>
void activation_forward(T* y, const T* x, Nonlinearity f, bool gated, std::int64_t rows,
                        std::int64_t width);

/// dx, of x's shape, from dy[rows, width] and the input x.
template <class T>
void activation_backward(T* dx, const T* dy, const T* x, Nonlinearity f, bool gated,
                         std::int64_t rows, std::int64_t width);

/// Each row of y times its gate of gates[rows].
template <class T>
void weighted_activation_forward(T* y, const T* x, const T* gates, Nonlinearity f, bool gated,
                                 std::int64_t rows, std::int64_t width);

/// dx, and dgates[rows], the dot products of dy and f(x).
template <class T>
void weighted_activation_backward(T* dx, T* dgates, const T* dy, const T* x, const T* gates,
                                  Nonlinearity f, bool gated, std::int64_t rows,
                                  std::int64_t width);

}  // namespace plait::kernels
