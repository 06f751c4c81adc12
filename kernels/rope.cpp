// Sines come from the addition theorem, one complex product per position, and afresh from libm at
// every position that is a multiple of kFresh: the error stays below 64 roundings (1e-14), and a
// position gets the same bits wherever the sequence is cut.

#include "kernels/rope.h"

#include <algorithm>
#include <cmath>

namespace plait::kernels {
namespace {

constexpr std::int64_t kPairs = 64;  // at a time
constexpr std::int64_t kFresh = 64;

/// Cosine and sine of a block of pairs at the current position, in double whatever T is.
class Angles {
 public:
  Angles(const RopeShape& shape, std::int64_t first_pair, std::int64_t pairs) : pairs_(pairs) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double exponent =
          -2.0 * static_cast<double>(first_pair + i) / static_cast<double>(shape.head_dim);
      frequency_[i] = std::pow(shape.theta, exponent);
      step_cos_[i] = std::cos(frequency_[i]), step_sin_[i] = std::sin(frequency_[i]);
    }
    restart(0);
  }

  void go_to(std::int64_t position) {
    if (position != position_ + 1 || position % kFresh == 0) restart(position - position % kFresh);
    while (position_ < position) advance();
  }
  template <class T>
  void write(T* cosines, T* sines, double direction) const {
    for (std::int64_t i = 0; i < pairs_; ++i) {
      cosines[i] = static_cast<T>(cos_[i]), sines[i] = static_cast<T>(direction * sin_[i]);
    }
  }

 private:
  void advance() {
    ++position_;
#pragma omp simd
    for (std::int64_t i = 0; i < pairs_; ++i) {
      const double c = cos_[i] * step_cos_[i] - sin_[i] * step_sin_[i];
      sin_[i] = sin_[i] * step_cos_[i] + cos_[i] * step_sin_[i];
      cos_[i] = c;
    }
  }
  void restart(std::int64_t position) {
    position_ = position;
    for (std::int64_t i = 0; i < pairs_; ++i) {
      const double angle = static_cast<double>(position) * frequency_[i];
      cos_[i] = std::cos(angle), sin_[i] = std::sin(angle);
    }
  }

  std::int64_t pairs_, position_ = 0;
  double frequency_[kPairs], step_cos_[kPairs], step_sin_[kPairs], cos_[kPairs], sin_[kPairs];
};

template <class T>
void rotate_pairs(T* a, T* b, const T* cosines, const T* sines, std::int64_t pairs) {
#pragma omp simd
  for (std::int64_t i = 0; i < pairs; ++i) {
    const T rotated = a[i] * cosines[i] - b[i] * sines[i];
    b[i] = b[i] * cosines[i] + a[i] * sines[i];
    a[i] = rotated;
  }
}

template <class T>
void rotate(T* qkv, const RopeShape& shape, double direction) {
  const std::int64_t half = shape.head_dim / 2;
  T cosines[kPairs], sines[kPairs];
  for (std::int64_t first = 0; first < half; first += kPairs) {
    const std::int64_t pairs = std::min(kPairs, half - first);
    Angles angles(shape, first, pairs);
    for (std::int64_t s = 0; s < shape.sequence; ++s) {
      angles.go_to(shape.place(s));
      angles.write(cosines, sines, direction);
      for (std::int64_t b = 0; b < shape.batch; ++b) {
        T* row = qkv + (s * shape.batch + b) * shape.row_width + shape.skipped + first;
        for (std::int64_t h = 0; h < shape.heads; ++h) {
          T* head = row + h * (shape.skipped + shape.head_dim);
          rotate_pairs(head, head + half, cosines, sines, pairs);
        }
      }
    }
  }
}

}  // namespace

template <class T>
void rope_forward(T* qkv, const RopeShape& shape) {
  rotate(qkv, shape, 1);
}

template <class T>
void rope_backward(T* dqkv, const RopeShape& shape) {
  rotate(dqkv, shape, -1);
}

template void rope_forward(float*, const RopeShape&);
template void rope_forward(double*, const RopeShape&);
template void rope_backward(float*, const RopeShape&);
template void rope_backward(double*, const RopeShape&);

}  // namespace plait::kernels
