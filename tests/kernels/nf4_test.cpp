// NF4 and its nested scales.
#include "kernels/nf4.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace plait::kernels::nf4_test {

/// Uneven numbers from -1 to 1.
std::vector<double> numbers(std::size_t n, double size = 1) {
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = size * std::sin(static_cast<double>(7 * i + 1));
  return out;
}

struct Stored {
  std::vector<double> codes, scales;
};
Stored stored(const std::vector<double>& x) {
  Stored out{std::vector<double>(x.size()), std::vector<double>((x.size() + 63) / 64)};
  quantize_nf4(out.codes.data(), out.scales.data(), x.data(), std::ssize(x));
  return out;
}
std::vector<double> restored(const Stored& s) {
  std::vector<double> out(s.codes.size());
  dequantize_nf4(out.data(), s.codes.data(), s.scales.data(), std::ssize(out));
  return out;
}

TEST(Nf4, ScalesAreTheLargestMagnitudesOfBlocksOf64) {
  std::vector<double> x = numbers(130);
  x[3] = -5, x[64] = 3, x[128] = 0.25, x[129] = -0.125;
  EXPECT_EQ(stored(x).scales, (std::vector<double>{5, 3, 0.25}));
}

// The widest gap is that from -1 to -0.696.
TEST(Nf4, ANumberIsOffByHalfOfTheWidestGapAtMost) {
  const std::vector<double> x = numbers(1000, 3);
  const Stored s = stored(x);
  const std::vector<double> y = restored(s);
  std::set<double> codes(s.codes.begin(), s.codes.end());
  EXPECT_EQ(codes.size(), 16U);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::abs(y[i] - x[i]) / s.scales[i / 64]);
  EXPECT_LE(worst, (1 - 0.6961928009986877) / 2 + 1e-12);
  EXPECT_GT(worst, 0.1);
}

TEST(Nf4, StoredOnceMoreNumbersStay) {
  const Stored once = stored(numbers(200));
  const Stored twice = stored(restored(once));
  EXPECT_EQ(once.codes, twice.codes);
  EXPECT_EQ(once.scales, twice.scales);
}

TEST(Nf4, ABlockOfZerosStaysZero) {
  for (const double x : restored(stored(std::vector<double>(64)))) EXPECT_EQ(x, 0);
}

// The numbers of the largest exponent are 0.9 / 64 apart, so that half of that is lost at most, of
// the largest of 256 distances from the mean.
TEST(Nf4, NestedScalesAreOffByHalfAStepOfEightBits) {
  std::vector<double> scales = numbers(600);
  double mean = 0;
  for (double& s : scales) s = 2 + 0.1 * s, mean += s / 600;
  std::vector<double> codes(600), nested(3 + 1), out(600);
  quantize_scales(codes.data(), nested.data(), scales.data(), 600);
  dequantize_scales(out.data(), codes.data(), nested.data(), 600);
  EXPECT_NEAR(nested[3], mean, 1e-12);
  double worst = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_LE(std::abs(codes[i]), 1);
    worst = std::max(worst, std::abs(out[i] - scales[i]) / nested[i / 256]);
  }
  EXPECT_LE(worst, 0.9 / 64 / 2 + 1e-12);
  EXPECT_GT(worst, 0.9 / 64 / 4);
  EXPECT_LE(nested[0], 0.1 * 2);
}

}  // namespace plait::kernels::nf4_test
