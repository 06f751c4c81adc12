#pragma once
// e^x as straight-line arithmetic that compilers vectorise: libm's exp is a call per element, and
// its run time depends on the data. Used inside kernels only.
//
//   n = round(x / ln 2),  r = x - n ln 2 in two pieces,  e^x = 2^n sum_{k <= K} r^k / k!
//
// |r| <= ln 2 / 2 = 0.347, so the cut-off is at most r^(K+1) / (K+1)! = 5e-9 (float, K = 7) and
// 4e-18 (double, K = 13): below half a unit in the last place of a result in [0.7, 1.42].

#include <bit>
#include <cstdint>

namespace plait::kernels {

template <class T>
struct ExponentialConstants;
// ln2_high has so few bits that n ln2_high is exact; both pieces are those of Sun's fdlibm e_exp.c
// (double) and Cephes expf.c (float). Adding `shift` = 1.5 2^mantissa_bits rounds to an integer and
// leaves it in the low bits. Between `low` and `high` every result is a normal number.
template <>
struct ExponentialConstants<float> {
  using Bits = std::uint32_t;
  static constexpr int kDegree = 7, kMantissaBits = 23;
  static constexpr float kLow = -87.0F, kHigh = 88.0F, kShift = 12582912.0F;
  static constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
};
template <>
struct ExponentialConstants<double> {
  using Bits = std::uint64_t;
  static constexpr int kDegree = 13, kMantissaBits = 52;
  static constexpr double kLow = -708.0, kHigh = 709.0, kShift = 6755399441055744.0;
  static constexpr double kLn2High = 6.93147180369123816490e-01;
  static constexpr double kLn2Low = 1.90821492927058770002e-10;
};

/// e^x within 2 units in the last place. x is clamped to [-87, 88] (float), [-708, 709] (double):
/// where e^x would be smaller the result is about 1.6e-38 (3.3e-308), never 0.
template <class T>
inline T exponential(T x) {
  using C = ExponentialConstants<T>;
  constexpr T kLog2E = static_cast<T>(1.44269504088896340736);
  x = x < C::kLow ? C::kLow : x;
  x = x > C::kHigh ? C::kHigh : x;
  const T shifted = x * kLog2E + C::kShift;
  const T n = shifted - C::kShift;
  const T r = (x - n * C::kLn2High) - n * C::kLn2Low;
  T sum = 1;
  for (int k = C::kDegree; k > 0; --k) sum = T(1) + sum * r * (T(1) / static_cast<T>(k));
  const auto exponent = std::bit_cast<typename C::Bits>(shifted) << C::kMantissaBits;
  return std::bit_cast<T>(std::bit_cast<typename C::Bits>(sum) + exponent);
}

/// 1 / (1 + e^-x).
template <class T>
inline T sigmoid(T x) {
  return T(1) / (T(1) + exponential(-x));
}

}  // namespace plait::kernels
