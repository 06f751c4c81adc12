#include "kernels/drop.h"

namespace plait::kernels {

template <class T>
void drop(T* out, std::uint8_t* mask, const T* x, std::int64_t sequence, std::int64_t batch,
          std::int64_t width, std::int64_t first, const Dropout& dropout) {
  const std::uint32_t threshold = dropout.threshold();
  const T scale = static_cast<T>(dropout.scale());
  for (std::int64_t s = 0; s < sequence; ++s) {
    for (std::int64_t sample = 0; sample < batch; ++sample) {
      const std::int64_t at = (s * batch + sample) * width;
      const std::uint64_t key = dropout_row_key(dropout, sample, s, 0);
#pragma omp simd
      for (std::int64_t i = 0; i < width; ++i) {
        const bool kept = dropout_draw(key, static_cast<std::uint32_t>(first + i)) >= threshold;
        mask[at + i] = kept ? 1 : 0;
        out[at + i] = x[at + i] * (scale * T(mask[at + i]));
      }
    }
  }
}

template void drop(float*, std::uint8_t*, const float*, std::int64_t, std::int64_t, std::int64_t,
                   std::int64_t, const Dropout&);
template void drop(double*, std::uint8_t*, const double*, std::int64_t, std::int64_t, std::int64_t,
                   std::int64_t, const Dropout&);

}  // namespace plait::kernels
