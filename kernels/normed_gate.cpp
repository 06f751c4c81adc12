#include "kernels/normed_gate.h"

#include <cmath>

#include "kernels/fill.h"
#include "kernels/silu.h"

namespace plait::kernels {

template <class T>
void normed_gate_forward(T* out, T* stats, const T* y, const T* packed, const T* gamma,
                         const GatedNormShape& s, double epsilon) {
  const std::int64_t columns = s.width / s.groups;
  for (std::int64_t part = 0; part < s.rows * s.groups; ++part) {
    const T *in = y + part * columns,
            *z = packed + part / s.groups * s.packed_width + part % s.groups * columns;
    T squares = 0;
    for (std::int64_t i = 0; i < columns; ++i) squares += in[i] * in[i];
    stats[part] = T(1) / std::sqrt(squares / static_cast<T>(columns) + static_cast<T>(epsilon));
    for (std::int64_t i = 0; i < columns; ++i) {
      out[part * columns + i] = in[i] * stats[part] * gamma[i] * silu_of(z[i]);
    }
  }
}

template <class T>
void normed_gate_backward(T* dy, T* dpacked, T* dgamma, const T* dout, const T* y, const T* packed,
                          const T* stats, const T* gamma, const GatedNormShape& s,
                          bool accumulate) {
  const std::int64_t columns = s.width / s.groups;
  if (!accumulate) fill(dgamma, T(0), columns);
  for (std::int64_t part = 0; part < s.rows * s.groups; ++part) {
    const std::int64_t gate = part / s.groups * s.packed_width + part % s.groups * columns;
    const T *in = y + part * columns, *d = dout + part * columns, *z = packed + gate;
    T *dz = dpacked + gate, *dx = dy + part * columns;
    const T rstd = stats[part];
    T mean = 0;  // of what comes through the norm, times its result
    for (std::int64_t i = 0; i < columns; ++i) {
      const T normed = in[i] * rstd, open = d[i] * silu_of(z[i]);
      dgamma[i] += open * normed;
      dz[i] = d[i] * normed * gamma[i] * silu_slope(z[i]);
      mean += open * gamma[i] * normed / static_cast<T>(columns);
    }
    for (std::int64_t i = 0; i < columns; ++i) {
      dx[i] = rstd * (d[i] * silu_of(z[i]) * gamma[i] - in[i] * rstd * mean);
    }
  }
}

#define PLAIT_INSTANTIATE(T)                                                                       \
  template void normed_gate_forward(T*, T*, const T*, const T*, const T*, const GatedNormShape&,   \
                                    double);                                                       \
  template void normed_gate_backward(T*, T*, T*, const T*, const T*, const T*, const T*, const T*, \
                                     const GatedNormShape&, bool);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
