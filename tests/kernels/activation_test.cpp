#include "kernels/activation.h"

#include <bit>
#include <type_traits>

#include "kernels/exponential.h"
#include "tests/kernels/reference.h"

namespace plait::kernels::activation_test {

constexpr Nonlinearity kAll[] = {Nonlinearity::kGelu, Nonlinearity::kSilu, Nonlinearity::kRelu};

double value(Nonlinearity f, double x) {
  const double c = std::sqrt(2 / std::acos(-1.0));
  switch (f) {
    case Nonlinearity::kGelu: return x / 2 * (1 + std::tanh(c * (x + 0.044715 * x * x * x)));
    case Nonlinearity::kSilu: return x / (1 + std::exp(-x));
    case Nonlinearity::kRelu: return std::max(x, 0.0);
  }
  return 0;
}

/// Inputs in [-8, 8), where gelu and silu go from nearly 0 to nearly x.
template <class T>
std::vector<T> spread(std::int64_t n) {
  std::vector<T> x = Random().values<T>(n);
  for (T& v : x) v *= T(8);
  return x;
}

template <class T>
class Activation : public ::testing::Test {};
TYPED_TEST_SUITE(Activation, Precisions);

TYPED_TEST(Activation, ExponentialIsWithinTwoUnitsInTheLastPlace) {
  using T = TypeParam;
  const T limit = sizeof(T) == sizeof(float) ? T(87) : T(708);
  for (int i = -20000; i <= 20000; ++i) {
    const T x = limit * static_cast<T>(i) / T(20000);
    const long double want = std::exp(static_cast<long double>(x));
    const long double error = std::abs(static_cast<long double>(exponential(x)) - want) / want;
    ASSERT_LE(error, 2 * static_cast<long double>(std::numeric_limits<T>::epsilon())) << x;
  }
}

TYPED_TEST(Activation, ExponentialStaysFiniteBeyondItsRange) {
  using T = TypeParam;
  for (const T x : {std::numeric_limits<T>::lowest(), -std::numeric_limits<T>::infinity()}) {
    EXPECT_GT(exponential(x), T(0));
    EXPECT_LT(exponential(x), T(1e-37));
  }
  EXPECT_TRUE(std::isfinite(exponential(std::numeric_limits<T>::max())));
  EXPECT_EQ(exponential(T(0)), T(1));
}

TYPED_TEST(Activation, NaNStaysNaN) {
  using T = TypeParam;
  using Bits = std::conditional_t<sizeof(T) == sizeof(float), std::uint32_t, std::uint64_t>;
  // The second has every bit of the mantissa set.
  for (const T nan : {std::numeric_limits<T>::quiet_NaN(),
                      std::bit_cast<T>(static_cast<Bits>(std::numeric_limits<Bits>::max() >> 1))}) {
    EXPECT_TRUE(std::isnan(exponential(nan)));
    for (const Nonlinearity f : kAll) {
      T y = 0;
      activation_forward(&y, &nan, f, false, 1, 1);
      EXPECT_TRUE(std::isnan(y));
    }
  }
}

TYPED_TEST(Activation, ForwardIsTheDefinition) {
  using T = TypeParam;
  for (const Nonlinearity f : kAll) {
    for (const std::int64_t width : {1, 3, 5, 17, 65}) {
      const std::int64_t rows = 3;
      const auto x = spread<T>(rows * width * 2);
      auto y = poisoned<T>(rows * width * 2), gated = poisoned<T>(rows * width);
      activation_forward(y.data(), x.data(), f, false, rows, 2 * width);
      activation_forward(gated.data(), x.data(), f, true, rows, width);
      std::vector<double> want, gated_want;
      for (const T v : x) want.push_back(value(f, static_cast<double>(v)));
      for (std::int64_t i = 0; i < rows * width; ++i) {
        const auto gate = static_cast<std::size_t>(i / width * 2 * width + i % width);
        const auto up = gate + static_cast<std::size_t>(width);
        gated_want.push_back(want[gate] * static_cast<double>(x[up]));
      }
      // A dozen operations; the argument of the exponential reaches 2 sqrt(2 / pi) 31 = 49 where
      // its absolute error counts, but there sigmoid is 1 - 1e-21 or 1e-21; up to 8 it is 8 eps.
      expect_near(y, want, rounding<T>(4, 8));
      expect_near(gated, gated_want, rounding<T>(4, 64));
    }
  }
}

TEST(Activation, BackwardIsTheSlopeOfForward) {
  for (const Nonlinearity f : kAll) {
    for (const bool gated : {false, true}) {
      const std::int64_t rows = 3, width = 17, in = gated ? 2 * width : width;
      const auto x = spread<double>(rows * in), dy = Random(2).values<double>(rows * width);
      auto dx = poisoned<double>(rows * in);
      activation_backward(dx.data(), dy.data(), x.data(), f, gated, rows, width);
      // relu has no slope at 0; no input comes near.
      const auto loss = [&](const std::vector<double>& at) {
        auto y = poisoned<double>(rows * width);
        activation_forward(y.data(), at.data(), f, gated, rows, width);
        return dot(y, dy);
      };
      expect_gradient(loss, x, dx);
    }
  }
}

TEST(Activation, FloatBackwardAgreesWithDouble) {
  for (const Nonlinearity f : kAll) {
    for (const bool gated : {false, true}) {
      const auto gradient = [&]<class T>(T) {
        const std::int64_t rows = 3, width = 65, in = gated ? 2 * width : width;
        const auto x = spread<T>(rows * in), dy = Random(2).values<T>(rows * width);
        auto dx = poisoned<T>(rows * in);
        activation_backward(dx.data(), dy.data(), x.data(), f, gated, rows, width);
        return dx;
      };
      expect_near(gradient(0.0F), gradient(0.0), rounding<float>(4, 64));
    }
  }
}

TYPED_TEST(Activation, HugeInputsNeitherOverflowNorBecomeNaN) {
  using T = TypeParam;
  const std::vector<T> x = {T(-1e4), T(1e4)}, dy = {T(1), T(1)};
  for (const Nonlinearity f : kAll) {
    auto y = poisoned<T>(2), dx = poisoned<T>(2);
    activation_forward(y.data(), x.data(), f, false, 1, 2);
    activation_backward(dx.data(), dy.data(), x.data(), f, false, 1, 2);
    EXPECT_NEAR(static_cast<double>(y[0]), 0, 1e-25);
    EXPECT_EQ(y[1], T(1e4));
    EXPECT_NEAR(static_cast<double>(dx[0]), 0, 1e-20);
    EXPECT_EQ(dx[1], T(1));
  }
}

/// Rows times gates, and the slopes in both.
TEST(WeightedActivation, IsTheActivationTimesAGateForEachRow) {
  Random random;
  const std::int64_t rows = 3, width = 5;
  for (const Nonlinearity f : kAll) {
    for (const bool gated : {false, true}) {
      const std::int64_t in = gated ? 2 * rows * width : rows * width;
      const auto x = random.values<double>(in), gates = random.values<double>(rows);
      const auto dy = random.values<double>(rows * width);
      auto plain = poisoned<double>(rows * width), y = plain, dx = poisoned<double>(in);
      auto dgates = poisoned<double>(rows);
      activation_forward(plain.data(), x.data(), f, gated, rows, width);
      weighted_activation_forward(y.data(), x.data(), gates.data(), f, gated, rows, width);
      for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], plain[i] * gates[i / 5]);
      weighted_activation_backward(dx.data(), dgates.data(), dy.data(), x.data(), gates.data(), f,
                                   gated, rows, width);
      const auto loss = [&](const std::vector<double>& a, const std::vector<double>& b) {
        auto out = poisoned<double>(rows * width);
        weighted_activation_forward(out.data(), a.data(), b.data(), f, gated, rows, width);
        return dot(out, dy);
      };
      expect_gradient([&](const auto& at) { return loss(at, gates); }, x, dx);
      expect_gradient([&](const auto& at) { return loss(x, at); }, gates, dgates);
    }
  }
}

}  // namespace plait::kernels::activation_test
