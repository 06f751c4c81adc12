// The formulas of kernels/adam.cpp; what is the same for all elements is computed on the host, the
// clipping factor by every thread, since the norm is on the device.

#include <cmath>

#include "kernels/cuda/adam.h"
#include "kernels/cuda/elementwise.h"

namespace plait::kernels::cuda {
namespace {

struct Constants {
  float b1, c1, b2, c2, rate, unbias, epsilon, max_norm;
  explicit Constants(const AdamSettings& s)
      : b1(static_cast<float>(s.beta1)),
        c1(static_cast<float>(1 - s.beta1)),
        b2(static_cast<float>(s.beta2)),
        c2(static_cast<float>(1 - s.beta2)),
        rate(static_cast<float>(s.learning_rate /
                                (1 - std::pow(s.beta1, static_cast<double>(s.step))))),
        unbias(
            static_cast<float>(1 / std::sqrt(1 - std::pow(s.beta2, static_cast<double>(s.step))))),
        epsilon(static_cast<float>(s.epsilon)),
        max_norm(static_cast<float>(s.max_norm)) {}
};

template <class W, class M, class G>
struct AdamStep {
  W* weight;
  M* master;
  float *first, *second;
  const G* gradient;
  const float* squared_norm;
  Constants c;

  __device__ float clip() const {
    if (squared_norm == nullptr) return 1;
    const float norm = sqrtf(*squared_norm);
    return norm > c.max_norm ? c.max_norm / norm : 1.0F;
  }
  template <int V>
  __device__ void run(std::int64_t at) const {
    const float factor = clip();
    const Floats<V> gradients = load<V>(gradient + at);
    Floats<V> m = load<V>(first + at), v = load<V>(second + at), w = load<V>(master + at);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const float g = factor * gradients.at[i];
      m.at[i] = c.b1 * m.at[i] + c.c1 * g;
      v.at[i] = c.b2 * v.at[i] + c.c2 * g * g;
      w.at[i] -= c.rate * m.at[i] / (sqrtf(v.at[i]) * c.unbias + c.epsilon);
    }
    store(first + at, m), store(second + at, v), store(master + at, w);
    if (weight != nullptr) store(weight + at, w);
  }
};

}  // namespace

template <class W, class M, class G>
void adam(const Queue& q, W* weight, M* master, float* first, float* second, const G* gradient,
          const float* squared_norm, std::int64_t elements, const AdamSettings& settings) {
  // Four: with eight the compiler keeps too many values in registers for a full multiprocessor.
  constexpr int kWide = 4;
  for_each_element<kWide>(q, aligned({weight, master, first, second, gradient}), elements,
                          AdamStep<W, M, G>{weight, master, first, second, gradient, squared_norm,
                                            Constants(settings)});
}

#define PLAIT_INSTANTIATE(W, M, G)                                                               \
  template void adam(const Queue&, W*, M*, float*, float*, const G*, const float*, std::int64_t, \
                     const AdamSettings&);
PLAIT_INSTANTIATE(float, float, float)
PLAIT_INSTANTIATE(float, float, __nv_bfloat16)
PLAIT_INSTANTIATE(__nv_bfloat16, float, float)
PLAIT_INSTANTIATE(__nv_bfloat16, float, __nv_bfloat16)
PLAIT_INSTANTIATE(__nv_bfloat16, __nv_bfloat16, float)
PLAIT_INSTANTIATE(__nv_bfloat16, __nv_bfloat16, __nv_bfloat16)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
