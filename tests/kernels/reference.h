#pragma once
// What the tests of kernels share: random inputs, outputs that start as NaN (a kernel that leaves
// an element out, or reads its output, is caught), comparison, and central differences.
//
// Rounding. A sum of n terms of size at most M, in any order, is off by at most about n eps/2 times
// the sum of sizes n M (Higham 2002, Accuracy and stability, eq. 4.4). Kernel and reference each
// contribute, so `rounding<T>(n, M)` = eps (n + 16) n M holds for dot products with up to 16
// further operations around them.
//
// Central differences. (f(x + h) - f(x - h)) / 2h is off by h^2 f''' / 6 plus the rounding of f
// divided by h. With h = 1e-5, |f'''| <= 1000 and f a sum that is exact to 1e-13 (1000 terms of
// size 1 that are exact to an eps each) that is 2e-8 + 1e-8: below 1e-7.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace plait::kernels {

class Random {
 public:
  explicit Random(unsigned seed = 1) : engine_(seed) {}
  /// Uniform in [-1, 1), the same numbers for every T.
  template <class T>
  std::vector<T> values(std::int64_t n) {
    std::vector<T> out(static_cast<std::size_t>(n));
    for (T& x : out) x = static_cast<T>(static_cast<float>(engine_() >> 8) / 8388608.0F - 1.0F);
    return out;
  }
  std::vector<std::int64_t> ids(std::int64_t n, std::int64_t below) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(n));
    for (auto& x : out) x = static_cast<std::int64_t>(engine_()) % below;
    return out;
  }

 private:
  std::mt19937 engine_;  // its output is fixed by the standard
};

template <class T>
std::vector<T> poisoned(std::int64_t n) {
  return std::vector<T>(static_cast<std::size_t>(n), std::numeric_limits<T>::quiet_NaN());
}
template <class T>
std::vector<double> widened(const std::vector<T>& x) {
  return {x.begin(), x.end()};
}

template <class T>
double rounding(std::int64_t terms, double size = 1) {
  const auto n = static_cast<double>(terms);
  return static_cast<double>(std::numeric_limits<T>::epsilon()) * (n + 16) * n * size;
}

template <class T, class U>
void expect_near(const std::vector<T>& got, const std::vector<U>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(want[i]), tolerance) << "at " << i;
  }
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// The derivative of f at x along a direction is gradient . direction.
template <class F>
void expect_slope(F&& f, const std::vector<double>& x, const std::vector<double>& gradient,
                  const std::vector<double>& direction) {
  constexpr double h = 1e-5, kTolerance = 1e-7;
  std::vector<double> above = x, below = x;
  for (std::size_t i = 0; i < x.size(); ++i) above[i] += h * direction[i];
  for (std::size_t i = 0; i < x.size(); ++i) below[i] -= h * direction[i];
  ASSERT_NEAR((f(above) - f(below)) / (2 * h), dot(gradient, direction), kTolerance);
}

/// `gradient` is that of f at x: along every axis.
template <class F>
void expect_gradient(F&& f, const std::vector<double>& x, const std::vector<double>& gradient) {
  ASSERT_EQ(x.size(), gradient.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::vector<double> axis(x.size());
    axis[i] = 1;
    ASSERT_NO_FATAL_FAILURE(expect_slope(f, x, gradient, axis)) << "along axis " << i;
  }
}

/// The same for long x: along random directions of length about 1, each of which sees every
/// element.
template <class F>
void expect_gradient_in_directions(F&& f, const std::vector<double>& x,
                                   const std::vector<double>& gradient, int directions) {
  ASSERT_EQ(x.size(), gradient.size());
  Random random(99);
  for (int n = 0; n < directions; ++n) {
    std::vector<double> direction = random.values<double>(static_cast<std::int64_t>(x.size()));
    const double length = std::sqrt(dot(direction, direction));
    for (double& d : direction) d /= length;
    ASSERT_NO_FATAL_FAILURE(expect_slope(f, x, gradient, direction)) << "direction " << n;
  }
}

using Precisions = ::testing::Types<float, double>;

}  // namespace plait::kernels
