#pragma once
// LayerNorm and RMSNorm on the device: kernels/norm.h, T = float or bf16, statistics in float,
// gradients of the parameters for (T, G) = (float, float), (bf16, float) and (bf16, bf16). Column
// sums run in an order that does not vary from run to run. width <= 2^18.

#include "kernels/cuda/queue.h"
#include "kernels/norm.h"

namespace plait::kernels::cuda {

/// y = (x - mean) rstd gamma + beta; stats[rows, 2] gets mean and rstd = 1 / sqrt(var + epsilon).
template <class T>
void layer_norm_forward(const Queue& q, T* y, float* stats, const T* x, const T* gamma,
                        const T* beta, std::int64_t rows, std::int64_t width, double epsilon);

/// dx[rows, width] is written; dgamma[width] and dbeta[width] are written or, with `accumulate`,
/// added to. dx may be null, or dgamma and dbeta.
template <class T, class G>
void layer_norm_backward(const Queue& q, T* dx, G* dgamma, G* dbeta, const T* dy, const T* x,
                         const float* stats, const T* gamma, std::int64_t rows, std::int64_t width,
                         bool accumulate);

/// y = x rstd gamma; stats[rows, 1] gets rstd = 1 / sqrt(mean(x^2) + epsilon).
template <class T>
void rms_norm_forward(const Queue& q, T* y, float* stats, const T* x, const T* gamma,
                      std::int64_t rows, std::int64_t width, double epsilon);

/// As layer_norm_backward, without beta.
template <class T, class G>
void rms_norm_backward(const Queue& q, T* dx, G* dgamma, const T* dy, const T* x,
                       const float* stats, const T* gamma, std::int64_t rows, std::int64_t width,
                       bool accumulate);

/// rms_norm_forward of each head; pointers are to the first head and its statistic.
template <class T>
void head_norm_forward(const Queue& q, T* y, float* stats, const T* x, const T* gamma,
                       const NormedHeads& heads, double epsilon);

/// rms_norm_backward of each head; dx may be dy, and is not null.
template <class T, class G>
void head_norm_backward(const Queue& q, T* dx, G* dgamma, const T* dy, const T* x,
                        const float* stats, const T* gamma, const NormedHeads& heads,
                        bool accumulate);

}  // namespace plait::kernels::cuda
