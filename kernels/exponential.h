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
// leaves it in the low bits. Up to |x| = `limit` the result and its reciprocal are normal numbers:
// arithmetic on others is slow.
template <>
struct ExponentialConstants<float> {
  using Bits = std::uint32_t;
  static constexpr int kDegree = 7, kMantissaBits = 23;
  static constexpr float kLimit = 87.0F, kShift = 12582912.0F;
  static constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
};
template <>
struct ExponentialConstants<double> {
  using Bits = std::uint64_t;
  static constexpr int kDegree = 13, kMantissaBits = 52;
  static constexpr double kLimit = 708.0, kShift = 6755399441055744.0;
  static constexpr double kLn2High = 6.93147180369123816490e-01;
  static constexpr double kLn2Low = 1.90821492927058770002e-10;
};

/// 1 + r / k (1 + r / (k + 1) (... (1 + r / last))). A recursion, as compilers unroll no loop here
/// and would divide in it.
template <int k, int last, class T>
inline T exponential_series(T r) {
  constexpr T kInverse = T(1) / static_cast<T>(k);
  if constexpr (k == last) {
    return T(1) + r * kInverse;
  } else {
    return T(1) + r * kInverse * exponential_series<k + 1, last>(r);
  }
}

/// e^x within 2 units in the last place; NaN stays NaN. |x| is clamped to 87 (float) or 708
/// (double): where e^x would be smaller the result is 1.6e-38 or 3.3e-308, never 0.
template <class T>
inline T exponential(T x) {
  using C = ExponentialConstants<T>;
  constexpr T kLog2E = static_cast<T>(1.44269504088896340736);
  x = x < -C::kLimit ? -C::kLimit : x;
  x = x > C::kLimit ? C::kLimit : x;
  const T shifted = x * kLog2E + C::kShift;
  const T n = shifted - C::kShift;
  const T r = (x - n * C::kLn2High) - n * C::kLn2Low;
  const T sum = exponential_series<1, C::kDegree>(r);
  const auto exponent = std::bit_cast<typename C::Bits>(shifted) << C::kMantissaBits;
  const T result = std::bit_cast<T>(std::bit_cast<typename C::Bits>(sum) + exponent);
  // Adding to the bits of a NaN may leave a number; x - x is a NaN then.
  return result + (x - x);  // NOLINT(misc-redundant-expression)
}

/// 1 / (1 + e^-x).
template <class T>
inline T sigmoid(T x) {
  return T(1) / (T(1) + exponential(-x));
}

}  // namespace plait::kernels
