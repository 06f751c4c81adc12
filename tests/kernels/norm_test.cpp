#include "kernels/norm.h"

#include "tests/kernels/reference.h"

namespace plait::kernels::norm_test {

/// With mean square at most 1 and epsilon 0.1, rstd lies in [0.95, 3.2] and derivatives are small.
constexpr double kEpsilon = 0.1;
enum class Kind { kLayer, kRms };

struct Result {
  std::vector<double> y, stats;
};
Result reference(Kind kind, const std::vector<double>& x, const std::vector<double>& gamma,
                 const std::vector<double>& beta) {
  const std::size_t width = gamma.size();
  Result out;
  for (std::size_t row = 0; row < x.size(); row += width) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < width; ++i) mean += x[row + i] / static_cast<double>(width);
    if (kind == Kind::kRms) mean = 0;
    for (std::size_t i = 0; i < width; ++i) square += std::pow(x[row + i] - mean, 2);
    const double rstd = 1 / std::sqrt(square / static_cast<double>(width) + kEpsilon);
    if (kind == Kind::kLayer) out.stats.push_back(mean);
    out.stats.push_back(rstd);
    for (std::size_t i = 0; i < width; ++i) {
      const double shift = kind == Kind::kLayer ? beta[i] : 0;
      out.y.push_back((x[row + i] - mean) * rstd * gamma[i] + shift);
    }
  }
  return out;
}

template <class T>
struct Case {
  std::int64_t rows, width;
  std::vector<T> x, gamma, beta, dy;
  Case(std::int64_t r, std::int64_t w) : rows(r), width(w) {
    Random random;
    x = random.values<T>(r * w), gamma = random.values<T>(w), beta = random.values<T>(w);
    dy = random.values<T>(r * w);
  }
  std::vector<T> stats(Kind kind) const {
    return poisoned<T>(rows * (kind == Kind::kLayer ? 2 : 1));
  }
};
template <class T>
void forward(Kind kind, const Case<T>& c, T* y, T* stats) {
  if (kind == Kind::kLayer) {
    layer_norm_forward(y, stats, c.x.data(), c.gamma.data(), c.beta.data(), c.rows, c.width,
                       kEpsilon);
  } else {
    rms_norm_forward(y, stats, c.x.data(), c.gamma.data(), c.rows, c.width, kEpsilon);
  }
}
template <class T>
void backward(Kind kind, const Case<T>& c, const T* stats, T* dx, T* dgamma, T* dbeta,
              bool accumulate) {
  if (kind == Kind::kLayer) {
    layer_norm_backward(dx, dgamma, dbeta, c.dy.data(), c.x.data(), stats, c.gamma.data(), c.rows,
                        c.width, accumulate);
  } else {
    rms_norm_backward(dx, dgamma, c.dy.data(), c.x.data(), stats, c.gamma.data(), c.rows, c.width,
                      accumulate);
  }
}

template <class F>
void for_each_shape(F&& f) {
  for (const Kind kind : {Kind::kLayer, Kind::kRms}) {
    for (const std::int64_t width : {1, 3, 5, 17, 65}) f(kind, 3, width);
  }
}

template <class T>
class Norm : public ::testing::Test {};
TYPED_TEST_SUITE(Norm, Precisions);

TYPED_TEST(Norm, ForwardIsTheDefinition) {
  using T = TypeParam;
  for_each_shape([](Kind kind, std::int64_t rows, std::int64_t width) {
    const Case<T> c(rows, width);
    auto y = poisoned<T>(rows * width), stats = c.stats(kind);
    forward(kind, c, y.data(), stats.data());
    const Result want = reference(kind, widened(c.x), widened(c.gamma), widened(c.beta));
    // Errors of mean and variance, both means of `width` terms, times a rstd of at most 3.2^3 / 2.
    const double tolerance = 20 * rounding<T>(width, 1.0 / static_cast<double>(width));
    expect_near(y, want.y, tolerance);
    expect_near(stats, want.stats, tolerance);
  });
}

TEST(Norm, BackwardIsTheSlopeOfForward) {
  for_each_shape([](Kind kind, std::int64_t rows, std::int64_t width) {
    const Case<double> c(rows, width);
    auto y = poisoned<double>(rows * width), stats = c.stats(kind), dx = y;
    auto dgamma = poisoned<double>(width), dbeta = dgamma;
    forward(kind, c, y.data(), stats.data());
    backward(kind, c, stats.data(), dx.data(), dgamma.data(), dbeta.data(), false);
    const auto slope_in = [&](auto member, const std::vector<double>& gradient) {
      const auto f = [&](const std::vector<double>& value) {
        Case<double> moved = c;
        moved.*member = value;
        auto out = poisoned<double>(rows * width), s = c.stats(kind);
        forward(kind, moved, out.data(), s.data());
        return dot(out, c.dy);
      };
      expect_gradient(f, c.*member, gradient);
    };
    slope_in(&Case<double>::x, dx);
    slope_in(&Case<double>::gamma, dgamma);
    if (kind == Kind::kLayer) slope_in(&Case<double>::beta, dbeta);
  });
}

TEST(Norm, FloatBackwardAgreesWithDouble) {
  for_each_shape([](Kind kind, std::int64_t rows, std::int64_t width) {
    const auto gradients = [&]<class T>(T) {
      const Case<T> c(rows, width);
      auto y = poisoned<T>(rows * width), stats = c.stats(kind), all = poisoned<T>(rows * width);
      auto dgamma = poisoned<T>(width), dbeta = std::vector<T>(static_cast<std::size_t>(width));
      forward(kind, c, y.data(), stats.data());
      backward(kind, c, stats.data(), all.data(), dgamma.data(), dbeta.data(), false);
      all.insert(all.end(), dgamma.begin(), dgamma.end());
      all.insert(all.end(), dbeta.begin(), dbeta.end());
      return all;
    };
    // Means of `width` terms below rstd^3 <= 33 each.
    const double tolerance = 33 * rounding<float>(width + rows, 1.0 / static_cast<double>(width));
    expect_near(gradients(0.0F), gradients(0.0), tolerance);
  });
}

/// Rows [2 heads of 3 | 1 of 3 | 2 other columns]; the heads alone, one behind the other.
constexpr NormedHeads kHeads = {
    .rows = 4, .heads = 2, .width = 3, .row_width = 11, .stats_width = 3};
std::vector<double> heads_of(const std::vector<double>& rows) {
  std::vector<double> out;
  for (std::size_t r = 0; r < 4; ++r) out.insert(out.end(), &rows[r * 11], &rows[r * 11] + 6);
  return out;
}

TEST(HeadNorm, NormalisesEachHeadAsARowOfItsOwn) {
  Random random;
  const auto x = random.values<double>(44), gamma = random.values<double>(3);
  auto y = poisoned<double>(44), stats = poisoned<double>(12);
  head_norm_forward(y.data(), stats.data(), x.data(), gamma.data(), kHeads, kEpsilon);
  const Result want = reference(Kind::kRms, heads_of(x), gamma, {});
  expect_near(heads_of(y), want.y, 1e-14);
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_NEAR(stats[3 * r], want.stats[2 * r], 1e-14);
    EXPECT_NEAR(stats[3 * r + 1], want.stats[2 * r + 1], 1e-14);
    EXPECT_TRUE(std::isnan(stats[3 * r + 2])) << "of the heads behind";
    EXPECT_TRUE(std::isnan(y[11 * r + 6])) << "of the heads behind";
  }
}

TEST(HeadNorm, BackwardInPlaceIsThatOfRows) {
  Random random;
  const auto x = random.values<double>(44), gamma = random.values<double>(3);
  const auto dy = random.values<double>(44), start = random.values<double>(3);
  auto y = poisoned<double>(44), stats = poisoned<double>(12);
  head_norm_forward(y.data(), stats.data(), x.data(), gamma.data(), kHeads, kEpsilon);
  const Result alone = reference(Kind::kRms, heads_of(x), gamma, {});
  for (const bool accumulate : {true, false}) {
    auto dx = poisoned<double>(24), want = start, dgamma = start, d = dy;
    rms_norm_backward(dx.data(), want.data(), heads_of(dy).data(), heads_of(x).data(),
                      alone.stats.data(), gamma.data(), 8, 3, accumulate);
    head_norm_backward(d.data(), dgamma.data(), d.data(), x.data(), stats.data(), gamma.data(),
                       kHeads, accumulate);
    expect_near(heads_of(d), dx, 1e-13);
    expect_near(dgamma, want, 1e-13);
    for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(d[11 * r + 6], dy[11 * r + 6]);
  }
}

TEST(Norm, ParameterGradientsAccumulateAndInputGradientsDoNot) {
  for_each_shape([](Kind kind, std::int64_t rows, std::int64_t width) {
    const Case<double> c(rows, width);
    auto y = poisoned<double>(rows * width), stats = c.stats(kind), once = y, twice = y;
    auto dgamma = poisoned<double>(width), dbeta = dgamma;
    forward(kind, c, y.data(), stats.data());
    backward(kind, c, stats.data(), once.data(), dgamma.data(), dbeta.data(), false);
    auto dgamma2 = dgamma, dbeta2 = dbeta;
    backward(kind, c, stats.data(), twice.data(), dgamma2.data(), dbeta2.data(), true);
    EXPECT_EQ(once, twice);
    for (double& x : dgamma) x *= 2;
    for (double& x : dbeta) x *= 2;
    expect_near(dgamma2, dgamma, rounding<double>(rows, 4));
    if (kind == Kind::kLayer) expect_near(dbeta2, dbeta, rounding<double>(rows, 4));
  });
}

TEST(Norm, EitherHalfOfBackwardRunsAlone) {
  for (const Kind kind : {Kind::kLayer, Kind::kRms}) {
    const Case<double> c(3, 17);
    auto y = poisoned<double>(3 * 17), stats = c.stats(kind), dx = y, alone = y;
    auto dgamma = poisoned<double>(17), dbeta = dgamma, dgamma2 = dgamma, dbeta2 = dgamma;
    forward(kind, c, y.data(), stats.data());
    backward(kind, c, stats.data(), dx.data(), dgamma.data(), dbeta.data(), false);
    backward<double>(kind, c, stats.data(), alone.data(), nullptr, nullptr, false);
    backward<double>(kind, c, stats.data(), nullptr, dgamma2.data(), dbeta2.data(), false);
    EXPECT_EQ(alone, dx);
    EXPECT_EQ(dgamma2, dgamma);
    if (kind == Kind::kLayer) {
      EXPECT_EQ(dbeta2, dbeta);
    }
  }
}

}  // namespace plait::kernels::norm_test
