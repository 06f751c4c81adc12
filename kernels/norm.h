#pragma once
// LayerNorm (Ba et al. 2016) and RMSNorm (Zhang and Sennrich 2019) over rows of x[rows, width].
// Gradients of the parameters may be asked for together with dx or alone: a null pointer leaves
// that result out.

#include <cstdint>

namespace plait::kernels {

/// y = (x - mean) rstd gamma + beta; stats[rows, 2] gets mean and rstd = 1 / sqrt(var + epsilon).
template <class T>
void layer_norm_forward(T* y, T* stats, const T* x, const T* gamma, const T* beta,
                        std::int64_t rows, std::int64_t width, double epsilon);

/// dx[rows, width] is written; dgamma[width] and dbeta[width] are written or, with `accumulate`,
/// added to. dx may be null, or dgamma and dbeta.
template <class T>
void layer_norm_backward(T* dx, T* dgamma, T* dbeta, const T* dy, const T* x, const T* stats,
                         const T* gamma, std::int64_t rows, std::int64_t width, bool accumulate);

/// y = x rstd gamma; stats[rows, 1] gets rstd = 1 / sqrt(mean(x^2) + epsilon).
template <class T>
void rms_norm_forward(T* y, T* stats, const T* x, const T* gamma, std::int64_t rows,
                      std::int64_t width, double epsilon);

/// As layer_norm_backward, without beta.
template <class T>
void rms_norm_backward(T* dx, T* dgamma, const T* dy, const T* x, const T* stats, const T* gamma,
                       std::int64_t rows, std::int64_t width, bool accumulate);

}  // namespace plait::kernels
