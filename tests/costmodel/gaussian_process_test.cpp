// What forms miss is told from functions and noise that are known.
#include "costmodel/fit/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace plait::gaussian_process_test {

/// Waves over the logarithms of two sizes: a factor of e^0.1 to e^-0.1.
double wave(double rows, double width) {
  return 0.1 * std::sin(std::log(rows)) + 0.05 * std::cos(std::log(width) / 2);
}

/// At sizes spread evenly over logarithms, with noise of that standard deviation.
std::vector<Missed> measured(int points, double noise) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> logarithm(3, 9);
  std::vector<Missed> out;
  for (int i = 0; i < points; ++i) {
    const double rows = std::exp(logarithm(random)), width = std::exp(logarithm(random));
    out.push_back({{rows, width}, wave(rows, width) + noise * normal(random)});
  }
  return out;
}

/// Root mean square of what is told off the measured points.
double off_the_points(const GaussianProcess& process) {
  double squares = 0;
  int n = 0;
  for (double rows = 40; rows < 5000; rows *= 1.5) {
    for (double width = 50; width < 5000; width *= 1.7, ++n)
      squares += std::pow(process.value({rows, width}) - wave(rows, width), 2);
  }
  return std::sqrt(squares / n);
}

TEST(GaussianProcess, FollowsASmoothFunctionBetweenItsPoints) {
  EXPECT_LT(off_the_points(fit_gaussian_process(measured(150, 0))), 0.005);
}

TEST(GaussianProcess, TellsNoiseFromTheFunction) {
  const double noise = 0.05;  // the function's own deviation is 0.08
  EXPECT_LT(off_the_points(fit_gaussian_process(measured(300, noise))), noise / 2);
}

TEST(GaussianProcess, OfNoiseAloneIsTheMean) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal(0.2, 0.1);
  std::vector<Missed> missed = measured(200, 0);
  double mean = 0;
  for (Missed& m : missed) m.log_ratio = normal(random), mean += m.log_ratio / 200;
  const GaussianProcess process = fit_gaussian_process(missed);
  for (double size : {30.0, 200.0, 4000.0}) EXPECT_NEAR(process.value({size, size}), mean, 0.02);
}

// Few points are followed only where each is told by the others.
TEST(GaussianProcess, OfFewPointsWithoutAFunctionNothingIsTold) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0.2, 0.1);
  std::vector<Missed> missed = measured(15, 0);
  for (Missed& m : missed) m.log_ratio = normal(random);
  EXPECT_TRUE(fit_gaussian_process(missed).points.empty());
  for (Missed& m : missed) m.log_ratio = 0.2 * std::log(m.sizes[0]);
  EXPECT_EQ(fit_gaussian_process(missed).points.size(), 15U);
}

TEST(GaussianProcess, FarAwayItIsItsMean) {
  const GaussianProcess process = fit_gaussian_process(measured(100, 0.01));
  EXPECT_NEAR(process.value({1e30, 1e-20}), process.mean, 1e-6);
}

TEST(GaussianProcess, OfTooFewPointsIsZero) {
  const GaussianProcess process =
      fit_gaussian_process(measured(static_cast<int>(kLeastMissed) - 1, 0));
  EXPECT_TRUE(process.points.empty());
  EXPECT_EQ(process.value({100, 100}), 0);
}

TEST(GaussianProcess, OfManyPointsTheFirstAreEnough) {
  EXPECT_EQ(fit_gaussian_process(measured(500, 0.01)).points.size(), 400U);
}

}  // namespace plait::gaussian_process_test
