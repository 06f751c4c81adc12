#include "kernels/cross_entropy.h"

#include <cmath>

#include "kernels/exponential.h"
#include "kernels/fill.h"
#include "kernels/vocab_shard.h"

namespace plait::kernels {
template <class T>
void cross_entropy_max(T* max, const T* logits, std::int64_t rows, std::int64_t vocab) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* x = logits + r * vocab;
    T largest = x[0];
#pragma omp simd reduction(max : largest)
    for (std::int64_t i = 0; i < vocab; ++i) largest = x[i] > largest ? x[i] : largest;
    max[r] = largest;
  }
}

template <class T>
void cross_entropy_sums(T* sums, const T* logits, const T* max, const std::int64_t* labels,
                        std::int64_t rows, std::int64_t vocab, std::int64_t vocab_offset) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* x = logits + r * vocab;
    const T shift = max[r];
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < vocab; ++i) sum += exponential(x[i] - shift);
    const LocalToken<T> label(labels[r], vocab, vocab_offset);
    if (labels[r] < 0) sum = vocab_offset == 0 ? T(1) : T(0);  // log 1 = 0
    sums[2 * r] = sum;
    sums[2 * r + 1] = (x[label.place] - shift) * label.factor;
  }
}

template <class T>
void cross_entropy_loss(T* loss, const T* sums, std::int64_t rows, double scale) {
  double total = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    total += std::log(static_cast<double>(sums[2 * r])) - static_cast<double>(sums[2 * r + 1]);
  }
  *loss = static_cast<T>(scale * total);
}

template <class T>
void cross_entropy_gradient(T* logits, const T* max, const T* sums, const std::int64_t* labels,
                            std::int64_t rows, std::int64_t vocab, std::int64_t vocab_offset,
                            double scale) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T* x = logits + r * vocab;
    if (labels[r] < 0) {
      fill(x, T(0), vocab);
      continue;
    }
    const T shift = max[r], factor = static_cast<T>(scale / static_cast<double>(sums[2 * r]));
#pragma omp simd
    for (std::int64_t i = 0; i < vocab; ++i) x[i] = exponential(x[i] - shift) * factor;
    const LocalToken<T> label(labels[r], vocab, vocab_offset);
    x[label.place] -= static_cast<T>(scale) * label.factor;
  }
}

#define PLAIT_INSTANTIATE(T)                                                                      \
  template void cross_entropy_max(T*, const T*, std::int64_t, std::int64_t);                      \
  template void cross_entropy_sums(T*, const T*, const T*, const std::int64_t*, std::int64_t,     \
                                   std::int64_t, std::int64_t);                                   \
  template void cross_entropy_loss(T*, const T*, std::int64_t, double);                           \
  template void cross_entropy_gradient(T*, const T*, const T*, const std::int64_t*, std::int64_t, \
                                       std::int64_t, std::int64_t, double);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
