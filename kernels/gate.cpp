#include "kernels/gate.h"

#include "kernels/exponential.h"
#include "kernels/fill.h"

namespace plait::kernels {

template <class T>
void gate_forward(T* out, const T* x, const T* g, std::int64_t rows, std::int64_t width,
                  std::int64_t gates) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < width; ++i) {
      out[r * width + i] = x[r * width + i] * sigmoid(g[r * gates + i % gates]);
    }
  }
}

template <class T>
void gate_backward(T* dx, T* dg, const T* dout, const T* x, const T* g, std::int64_t rows,
                   std::int64_t width, std::int64_t gates) {
  fill(dg, T(0), rows * gates);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t at = r * width + i, gate = r * gates + i % gates;
      const T open = sigmoid(g[gate]);
      dg[gate] += dout[at] * x[at] * open * (T(1) - open);
      dx[at] = dout[at] * open;
    }
  }
}

#define PLAIT_INSTANTIATE(T)                                                                    \
  template void gate_forward(T*, const T*, const T*, std::int64_t, std::int64_t, std::int64_t); \
  template void gate_backward(T*, T*, const T*, const T*, const T*, std::int64_t, std::int64_t, \
                              std::int64_t);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
