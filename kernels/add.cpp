#include "kernels/add.h"

namespace plait::kernels {
namespace {

void draw_row(std::uint8_t* mask, std::uint64_t key, std::uint32_t threshold, std::int64_t width) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    mask[i] = dropout_draw(key, static_cast<std::uint32_t>(i)) >= threshold ? 1 : 0;
  }
}

template <class T>
void add_masked_row(T* out, const T* a, const T* b, const T* bias, const std::uint8_t* mask,
                    T scale, std::int64_t width) {
  if (bias == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) out[i] = a[i] + b[i] * (scale * T(mask[i]));
    return;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) out[i] = a[i] + (b[i] + bias[i]) * (scale * T(mask[i]));
}

}  // namespace

template <class T>
void add(T* out, const T* a, const T* b, const T* bias, std::int64_t rows, std::int64_t width) {
  if (bias == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < rows * width; ++i) out[i] = a[i] + b[i];
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * width;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) out[at + i] = a[at + i] + (b[at + i] + bias[i]);
  }
}

template <class T>
void add_scaled(T* out, const T* b, double scale, std::int64_t rows, std::int64_t width,
                std::int64_t stride) {
  const T factor = static_cast<T>(scale);
  for (std::int64_t r = 0; r < rows; ++r) {
    T* row = out + r * stride;
    const T* change = b + r * width;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) row[i] += factor * change[i];
  }
}

template <class T>
void add_scaled_backward(T* db, const T* dout, double scale, std::int64_t rows, std::int64_t width,
                         std::int64_t stride) {
  const T factor = static_cast<T>(scale);
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* row = dout + r * stride;
    T* change = db + r * width;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) change[i] = factor * row[i];
  }
}

template <class T>
void add_dropout(T* out, std::uint8_t* mask, const T* a, const T* b, const T* bias,
                 std::int64_t sequence, std::int64_t batch, std::int64_t width,
                 const Dropout& dropout) {
  const std::uint32_t threshold = dropout.threshold();
  const T scale = static_cast<T>(dropout.scale());
  for (std::int64_t s = 0; s < sequence; ++s) {
    for (std::int64_t sample = 0; sample < batch; ++sample) {
      const std::int64_t at = (s * batch + sample) * width;
      draw_row(mask + at, dropout_row_key(dropout, sample, s, 0), threshold, width);
      add_masked_row(out + at, a + at, b + at, bias, mask + at, scale, width);
    }
  }
}

template <class T>
void add_dropout_backward(T* db, const T* dout, const std::uint8_t* mask, std::int64_t elements,
                          double probability) {
  const T scale = static_cast<T>(1 / (1 - probability));
#pragma omp simd
  for (std::int64_t i = 0; i < elements; ++i) db[i] = dout[i] * (scale * T(mask[i]));
}

#define PLAIT_INSTANTIATE(T)                                                                \
  template void add(T*, const T*, const T*, const T*, std::int64_t, std::int64_t);          \
  template void add_scaled(T*, const T*, double, std::int64_t, std::int64_t, std::int64_t); \
  template void add_scaled_backward(T*, const T*, double, std::int64_t, std::int64_t,       \
                                    std::int64_t);                                          \
  template void add_dropout(T*, std::uint8_t*, const T*, const T*, const T*, std::int64_t,  \
                            std::int64_t, std::int64_t, const Dropout&);                    \
  template void add_dropout_backward(T*, const T*, const std::uint8_t*, std::int64_t, double);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
