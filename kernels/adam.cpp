// Given gradient g_t, clipped to c g_t with c = min(1, max_norm / |g|):
//   m_t = b1 m + (1 - b1) c g,  v_t = b2 v + (1 - b2) (c g)^2
//   w_t = w - lr (m_t / (1 - b1^t)) / (sqrt(v_t / (1 - b2^t)) + eps)

#include "kernels/adam.h"

#include <cmath>

#include "kernels/cast.h"

namespace plait::kernels {

template <class T>
void adam(T* weight, T* master, T* first, T* second, const T* gradient, const T* squared_norm,
          std::int64_t elements, const AdamSettings& s) {
  const double norm = squared_norm == nullptr ? 0 : std::sqrt(static_cast<double>(*squared_norm));
  const T clip = static_cast<T>(norm > s.max_norm ? s.max_norm / norm : 1.0);
  const auto t = static_cast<double>(s.step);
  const T b1 = static_cast<T>(s.beta1), c1 = static_cast<T>(1 - s.beta1);
  const T b2 = static_cast<T>(s.beta2), c2 = static_cast<T>(1 - s.beta2);
  const T rate = static_cast<T>(s.learning_rate / (1 - std::pow(s.beta1, t)));
  const T unbias = static_cast<T>(1 / std::sqrt(1 - std::pow(s.beta2, t)));
  const T epsilon = static_cast<T>(s.epsilon);
#pragma omp simd
  for (std::int64_t i = 0; i < elements; ++i) {
    const T g = clip * gradient[i];
    first[i] = b1 * first[i] + c1 * g;
    second[i] = b2 * second[i] + c2 * g * g;
    master[i] -= rate * first[i] / (std::sqrt(second[i]) * unbias + epsilon);
  }
  if (weight != nullptr) cast(weight, master, elements);
}

template void adam(float*, float*, float*, float*, const float*, const float*, std::int64_t,
                   const AdamSettings&);
template void adam(double*, double*, double*, double*, const double*, const double*, std::int64_t,
                   const AdamSettings&);

}  // namespace plait::kernels
