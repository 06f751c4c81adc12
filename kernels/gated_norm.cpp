#include "kernels/gated_norm.h"

#include <cmath>

#include "kernels/fill.h"
#include "kernels/silu.h"

namespace plait::kernels {
namespace {

/// Calls f(first column, columns, index of the statistic) for each part of a row.
template <class F>
void for_each_part(const GatedNormShape& s, std::int64_t row, F&& f) {
  const std::int64_t columns = s.width / s.groups;
  for (std::int64_t g = 0; g < s.groups; ++g) f(g * columns, columns, row * s.groups + g);
}

}  // namespace

template <class T>
void gated_norm_forward(T* out, T* stats, const T* y, const T* packed, const T* gamma,
                        const GatedNormShape& s, double epsilon) {
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const T *in = y + r * s.width, *z = packed + r * s.packed_width;
    T* to = out + r * s.width;
    for_each_part(s, r, [&](std::int64_t first, std::int64_t columns, std::int64_t stat) {
      T squares = 0;
      for (std::int64_t i = first; i < first + columns; ++i) {
        to[i] = in[i] * silu_of(z[i]);
        squares += to[i] * to[i];
      }
      stats[stat] = T(1) / std::sqrt(squares / static_cast<T>(columns) + static_cast<T>(epsilon));
      for (std::int64_t i = first; i < first + columns; ++i) to[i] *= stats[stat] * gamma[i];
    });
  }
}

template <class T>
void gated_norm_backward(T* dy, T* dpacked, T* dgamma, T* out, const T* dout, const T* y,
                         const T* packed, const T* stats, const T* gamma, const GatedNormShape& s,
                         bool accumulate) {
  if (!accumulate) fill(dgamma, T(0), s.width);
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const T *in = y + r * s.width, *z = packed + r * s.packed_width, *d = dout + r * s.width;
    T *dz = dpacked + r * s.packed_width, *dx = dy + r * s.width, *to = out + r * s.width;
    for_each_part(s, r, [&](std::int64_t first, std::int64_t columns, std::int64_t stat) {
      const T rstd = stats[stat];
      T mean = 0;
      for (std::int64_t i = first; i < first + columns; ++i) {
        const T normed = in[i] * silu_of(z[i]) * rstd;
        dgamma[i] += d[i] * normed;
        mean += d[i] * gamma[i] * normed / static_cast<T>(columns);
        to[i] = normed * gamma[i];
      }
      for (std::int64_t i = first; i < first + columns; ++i) {
        const T gate = silu_of(z[i]);
        const T dg = rstd * (d[i] * gamma[i] - in[i] * gate * rstd * mean);
        dx[i] = dg * gate;
        dz[i] = dg * in[i] * silu_slope(z[i]);
      }
    });
  }
}

#define PLAIT_INSTANTIATE(T)                                                                    \
  template void gated_norm_forward(T*, T*, const T*, const T*, const T*, const GatedNormShape&, \
                                   double);                                                     \
  template void gated_norm_backward(T*, T*, T*, T*, const T*, const T*, const T*, const T*,     \
                                    const T*, const GatedNormShape&, bool);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
