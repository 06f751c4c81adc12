#include "kernels/nvfp4.h"

#include <algorithm>
#include <cmath>

namespace plait::kernels {
namespace {

constexpr double kMostE2m1 = 6, kMostE4m3 = 448;

/// The nearest multiple, of which there are as many as fit below the next power of two.
double to_multiple(double x, double step) { return std::nearbyint(x / step) * step; }

double to_e2m1(double x) {
  const double size = std::abs(x);
  const double step = size < 2 ? 0.5 : size < 4 ? 1 : 2;
  return std::copysign(std::min(to_multiple(size, step), kMostE2m1), x);
}

/// Of no negative number: three bits behind the leading one, which is 2^-6 at least.
double to_e4m3(double x) {
  constexpr int kLeastExponent = -6, kBits = 3;
  const int exponent = x > 0 ? std::max(std::ilogb(x), kLeastExponent) : kLeastExponent;
  return std::min(to_multiple(x, std::ldexp(1.0, exponent - kBits)), kMostE4m3);
}

template <class T>
double largest(const T* x, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  double out = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c)
      out = std::max(out, std::abs(static_cast<double>(x[r * stride + c])));
  }
  return out;
}

template <class T>
void round_block(T* out, const T* in, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                 double of_tensor) {
  const double most = largest(in, rows, columns, stride);
  const double scale = to_e4m3(most / (kMostE2m1 * of_tensor)) * of_tensor;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto x = static_cast<double>(in[r * stride + c]);
      out[r * stride + c] = static_cast<T>(scale > 0 ? to_e2m1(x / scale) * scale : 0);
    }
  }
}

}  // namespace

template <class T>
void round_to_nvfp4(T* out, const T* in, std::int64_t rows, std::int64_t columns,
                    ScaleBlock block) {
  const double most = largest(in, rows, columns, columns);
  const double of_tensor = most > 0 ? most / (kMostE2m1 * kMostE4m3) : 1;
  for (std::int64_t r = 0; r < rows; r += block.rows) {
    for (std::int64_t c = 0; c < columns; c += block.columns) {
      const std::int64_t at = r * columns + c;
      round_block(out + at, in + at, std::min(block.rows, rows - r),
                  std::min(block.columns, columns - c), columns, of_tensor);
    }
  }
}

template void round_to_nvfp4<float>(float*, const float*, std::int64_t, std::int64_t, ScaleBlock);
template void round_to_nvfp4<double>(double*, const double*, std::int64_t, std::int64_t,
                                     ScaleBlock);

}  // namespace plait::kernels
