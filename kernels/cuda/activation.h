#pragma once
// The MLP's nonlinearity on the device: kernels/activation.h, T = float or bf16.

#include "kernels/activation.h"
#include "kernels/cuda/queue.h"

namespace plait::kernels::cuda {

/// y[rows, width] = f(x[rows, width]); gated: f(x[rows, 0 .. width]) x[rows, width .. 2 width].
template <class T>
void activation_forward(const Queue& q, T* y, const T* x, Nonlinearity f, bool gated,
                        std::int64_t rows, std::int64_t width);

/// dx, of x's shape, from dy[rows, width] and the input x.
template <class T>
void activation_backward(const Queue& q, T* dx, const T* dy, const T* x, Nonlinearity f, bool gated,
                         std::int64_t rows, std::int64_t width);

/// Each row of y times its gate of gates[rows].
template <class T>
void weighted_activation_forward(const Queue& q, T* y, const T* x, const T* gates, Nonlinearity f,
                                 bool gated, std::int64_t rows, std::int64_t width);

/// dx, and dgates[rows], the dot products of dy and f(x).
template <class T>
void weighted_activation_backward(const Queue& q, T* dx, T* dgates, const T* dy, const T* x,
                                  const T* gates, Nonlinearity f, bool gated, std::int64_t rows,
                                  std::int64_t width);

}  // namespace plait::kernels::cuda
