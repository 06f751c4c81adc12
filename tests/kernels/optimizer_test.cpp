#include "kernels/adam.h"
#include "kernels/fill.h"
#include "kernels/squared_norm.h"
#include "tests/kernels/reference.h"

namespace plait::kernels::optimizer_test {

struct State {
  std::vector<double> weight, first, second;
};
/// Algorithm 1 of the paper, as it stands there.
void reference_step(State& s, const std::vector<double>& gradient, double clip,
                    const AdamSettings& a) {
  const auto t = static_cast<double>(a.step);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double g = clip * gradient[i];
    s.first[i] = a.beta1 * s.first[i] + (1 - a.beta1) * g;
    s.second[i] = a.beta2 * s.second[i] + (1 - a.beta2) * g * g;
    const double m = s.first[i] / (1 - std::pow(a.beta1, t));
    const double v = s.second[i] / (1 - std::pow(a.beta2, t));
    s.weight[i] -= a.learning_rate * m / (std::sqrt(v) + a.epsilon);
  }
}

template <class T>
class Optimizer : public ::testing::Test {};
TYPED_TEST_SUITE(Optimizer, Precisions);

TYPED_TEST(Optimizer, AdamFollowsThePaperOverSeveralStepsWithClipping) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 17, 65}) {
    Random random;
    auto master = random.values<T>(n), weight = poisoned<T>(n);
    std::vector<T> first(master.size()), second(master.size());
    State want{widened(master), widened(first), widened(second)};
    AdamSettings settings;
    settings.max_norm = 0.5;
    for (settings.step = 1; settings.step <= 3; ++settings.step) {
      const auto gradient = random.values<T>(n);
      T squared = std::numeric_limits<T>::quiet_NaN();
      squared_norm(&squared, gradient.data(), n, false);
      const double norm = std::sqrt(dot(widened(gradient), widened(gradient)));
      reference_step(want, widened(gradient), std::min(1.0, 0.5 / norm), settings);
      adam(weight.data(), master.data(), first.data(), second.data(), gradient.data(), &squared, n,
           settings);
    }
    // 3 steps of a dozen operations each on values of size 1.
    expect_near(master, want.weight, rounding<T>(6));
    expect_near(first, want.first, rounding<T>(6));
    expect_near(second, want.second, rounding<T>(6));
    EXPECT_EQ(weight, master);
  }
}

TYPED_TEST(Optimizer, AdamWithoutNormDoesNotClipAndWithoutWeightUpdatesTheMasterOnly) {
  using T = TypeParam;
  const auto gradient = Random().values<T>(17);
  std::vector<T> master(17), first(17), second(17);
  State want{widened(master), widened(first), widened(second)};
  AdamSettings settings;
  settings.max_norm = 1e-3;
  adam<T>(nullptr, master.data(), first.data(), second.data(), gradient.data(), nullptr, 17,
          settings);
  reference_step(want, widened(gradient), 1, settings);
  expect_near(master, want.weight, rounding<T>(2, settings.learning_rate));
}

TYPED_TEST(Optimizer, AGradientBelowTheLimitIsNotScaled) {
  using T = TypeParam;
  const auto gradient = Random().values<T>(17);
  std::vector<T> master(17), first(17), second(17), master2(17), first2(17), second2(17);
  const T squared = T(0.25);  // a norm of 0.5, below max_norm = 1
  adam<T>(nullptr, master.data(), first.data(), second.data(), gradient.data(), &squared, 17, {});
  adam<T>(nullptr, master2.data(), first2.data(), second2.data(), gradient.data(), nullptr, 17, {});
  EXPECT_EQ(master, master2);
}

TYPED_TEST(Optimizer, SquaredNormSumsOverBuffers) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 3, 65}) {
    const auto x = Random().values<T>(n);
    const double want = dot(widened(x), widened(x));
    T sum = std::numeric_limits<T>::quiet_NaN();
    squared_norm(&sum, x.data(), n, false);
    EXPECT_NEAR(static_cast<double>(sum), want, rounding<T>(n));
    squared_norm(&sum, x.data(), n, true);
    EXPECT_NEAR(static_cast<double>(sum), 2 * want, rounding<T>(2 * n));
  }
}

TEST(Optimizer, SquaredNormOfFloatsKeepsSmallTermsBesideALargeSum) {
  // 2^26 + 1000 ones: in float arithmetic each 1 would vanish beside 2^26.
  std::vector<float> x(1001, 1.0F);
  x[0] = 8192.0F;
  float sum = 0;
  squared_norm(&sum, x.data(), 1001, false);
  EXPECT_NEAR(static_cast<double>(sum), 67108864.0 + 1000.0, 4.0);  // half a unit of float there
}

TYPED_TEST(Optimizer, FillSetsEveryElementAndNoOther) {
  using T = TypeParam;
  std::vector<T> x(17, T(1));
  fill(x.data() + 1, T(0), 15);
  EXPECT_EQ(x.front(), T(1));
  EXPECT_EQ(x.back(), T(1));
  EXPECT_EQ(std::count(x.begin(), x.end(), T(0)), 15);
}

}  // namespace plait::kernels::optimizer_test
