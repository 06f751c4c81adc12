#pragma once
// LayerNorm (Ba et al. 2016) and RMSNorm (Zhang and Sennrich 2019) over rows of x[rows, width].
// Gradients of the parameters may be asked for together with dx or alone: a null pointer leaves
// that result out.

#include <cstdint>

namespace plait::kernels {

/// Heads side by side in longer rows, each of which is normalised by itself.
struct NormedHeads {
  std::int64_t rows = 0, heads = 0, width = 0;  // heads in a row, and elements of a head
  std::int64_t row_width = 0;                   // elements from one row to the next
  std::int64_t stats_width = 0;                 // statistics from one row to the next
};

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

/// rms_norm_forward of each head; pointers are to the first head and its statistic.
template <class T>
void head_norm_forward(T* y, T* stats, const T* x, const T* gamma, const NormedHeads& heads,
                       double epsilon);

/// rms_norm_backward of each head; dx may be dy, and is not null.
template <class T>
void head_norm_backward(T* dx, T* dgamma, const T* dy, const T* x, const T* stats, const T* gamma,
                        const NormedHeads& heads, bool accumulate);

}  // namespace plait::kernels
