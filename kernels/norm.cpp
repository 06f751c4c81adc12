// With x' = (x - mean) rstd and g = dy gamma, row by row:
//   LayerNorm  dx = rstd (g - mean(g) - x' mean(g x'))     dgamma = sum dy x',  dbeta = sum dy
//   RMSNorm    the same with mean = 0 and without mean(g)

#include "kernels/norm.h"

#include <cmath>

#include "kernels/bias_grad.h"
#include "kernels/fill.h"

namespace plait::kernels {
namespace {

template <class T>
T mean_of(const T* x, std::int64_t width) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < width; ++i) sum += x[i];
  return sum / static_cast<T>(width);
}

/// 1 / sqrt(mean((x - mean)^2) + epsilon).
template <class T>
T rstd_of(const T* x, T mean, std::int64_t width, double epsilon) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < width; ++i) sum += (x[i] - mean) * (x[i] - mean);
  return T(1) / std::sqrt(sum / static_cast<T>(width) + static_cast<T>(epsilon));
}

struct Centered {};  // LayerNorm's backward
struct Scaled {};    // RMSNorm's
template <class T>
T mean_of_gradient(Centered, const T* dy, const T* gamma, std::int64_t width) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < width; ++i) sum += dy[i] * gamma[i];
  return sum / static_cast<T>(width);
}
template <class T>
T mean_of_gradient(Scaled, const T*, const T*, std::int64_t) {
  return T(0);
}

template <class Kind, class T>
void input_gradient_row(Kind kind, T* dx, const T* dy, const T* x, T mean, T rstd, const T* gamma,
                        std::int64_t width) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < width; ++i) sum += dy[i] * gamma[i] * ((x[i] - mean) * rstd);
  const T along = sum / static_cast<T>(width);
  const T constant = mean_of_gradient(kind, dy, gamma, width);
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    dx[i] = rstd * (dy[i] * gamma[i] - constant - (x[i] - mean) * rstd * along);
  }
}

template <class T>
void add_gamma_gradient(T* dgamma, const T* dy, const T* x, T mean, T rstd, std::int64_t width) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) dgamma[i] += dy[i] * ((x[i] - mean) * rstd);
}

}  // namespace

template <class T>
void layer_norm_forward(T* y, T* stats, const T* x, const T* gamma, const T* beta,
                        std::int64_t rows, std::int64_t width, double epsilon) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* in = x + r * width;
    T* out = y + r * width;
    const T mean = mean_of(in, width), rstd = rstd_of(in, mean, width, epsilon);
    stats[2 * r] = mean, stats[2 * r + 1] = rstd;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) out[i] = (in[i] - mean) * rstd * gamma[i] + beta[i];
  }
}

template <class T>
void layer_norm_backward(T* dx, T* dgamma, T* dbeta, const T* dy, const T* x, const T* stats,
                         const T* gamma, std::int64_t rows, std::int64_t width, bool accumulate) {
  if (dbeta != nullptr) bias_grad(dbeta, dy, rows, width, accumulate);
  if (dgamma != nullptr && !accumulate) fill(dgamma, T(0), width);
  for (std::int64_t r = 0; r < rows; ++r) {
    const T mean = stats[2 * r], rstd = stats[2 * r + 1];
    const std::int64_t at = r * width;
    if (dgamma != nullptr) add_gamma_gradient(dgamma, dy + at, x + at, mean, rstd, width);
    if (dx != nullptr) {
      input_gradient_row(Centered{}, dx + at, dy + at, x + at, mean, rstd, gamma, width);
    }
  }
}

template <class T>
void rms_norm_forward(T* y, T* stats, const T* x, const T* gamma, std::int64_t rows,
                      std::int64_t width, double epsilon) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* in = x + r * width;
    T* out = y + r * width;
    const T rstd = rstd_of(in, T(0), width, epsilon);
    stats[r] = rstd;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) out[i] = in[i] * rstd * gamma[i];
  }
}

template <class T>
void rms_norm_backward(T* dx, T* dgamma, const T* dy, const T* x, const T* stats, const T* gamma,
                       std::int64_t rows, std::int64_t width, bool accumulate) {
  if (dgamma != nullptr && !accumulate) fill(dgamma, T(0), width);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * width;
    if (dgamma != nullptr) add_gamma_gradient(dgamma, dy + at, x + at, T(0), stats[r], width);
    if (dx != nullptr) {
      input_gradient_row(Scaled{}, dx + at, dy + at, x + at, T(0), stats[r], gamma, width);
    }
  }
}

template <class T>
void head_norm_forward(T* y, T* stats, const T* x, const T* gamma, const NormedHeads& h,
                       double epsilon) {
  for (std::int64_t r = 0; r < h.rows; ++r) {
    const std::int64_t at = r * h.row_width;
    rms_norm_forward(y + at, stats + r * h.stats_width, x + at, gamma, h.heads, h.width, epsilon);
  }
}

template <class T>
void head_norm_backward(T* dx, T* dgamma, const T* dy, const T* x, const T* stats, const T* gamma,
                        const NormedHeads& h, bool accumulate) {
  for (std::int64_t r = 0; r < h.rows; ++r) {
    const std::int64_t at = r * h.row_width;
    rms_norm_backward(dx + at, dgamma, dy + at, x + at, stats + r * h.stats_width, gamma, h.heads,
                      h.width, accumulate || r > 0);
  }
}

#define PLAIT_INSTANTIATE(T)                                                                      \
  template void layer_norm_forward(T*, T*, const T*, const T*, const T*, std::int64_t,            \
                                   std::int64_t, double);                                         \
  template void layer_norm_backward(T*, T*, T*, const T*, const T*, const T*, const T*,           \
                                    std::int64_t, std::int64_t, bool);                            \
  template void rms_norm_forward(T*, T*, const T*, const T*, std::int64_t, std::int64_t, double); \
  template void rms_norm_backward(T*, T*, const T*, const T*, const T*, const T*, std::int64_t,   \
                                  std::int64_t, bool);                                            \
  template void head_norm_forward(T*, T*, const T*, const T*, const NormedHeads&, double);        \
  template void head_norm_backward(T*, T*, const T*, const T*, const T*, const T*,                \
                                   const NormedHeads&, bool);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
