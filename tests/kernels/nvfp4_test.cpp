// Rounding to NVFP4: what is held as it is, how far the rest moves, and which numbers share a
// scale.
#include "kernels/nvfp4.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace plait::kernels::nvfp4_test {

using Values = std::vector<double>;

Values rounded(const Values& x, std::int64_t columns, ScaleBlock block = {}) {
  Values out(x.size());
  round_to_nvfp4(out.data(), x.data(), static_cast<std::int64_t>(x.size()) / columns, columns,
                 block);
  return out;
}

/// Of magnitudes below 1, without a pattern.
double number(std::int64_t i) { return std::sin(12.9898 * static_cast<double>(i + 1)); }

// The largest magnitude is 6 scales, and the block's scale, 448, is one that e4m3 has.
TEST(Nvfp4, HoldsMultiplesOfASixthOfTheLargestNumber) {
  const Values held = {0, 0.5, -1, 1.5, 2, -3, 4, 6};
  EXPECT_EQ(rounded(held, 8), held);
  // Ties go to the number whose last bit is 0.
  EXPECT_EQ(rounded({0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6}, 8), (Values{0, 1, 1, 2, 2, 4, 4, 6}));
  EXPECT_EQ(rounded({0, 0, 0}, 3), (Values{0, 0, 0}));
}

// Between 4 and 6 scales the step is 2: no number moves by more than 1 of the block's m / 6; nor,
// since the scale itself is off by 1/16 at most, by more than 1/16 of its own besides.
TEST(Nvfp4, MovesNumbersByASixthOfTheirBlocksLargestAtMost) {
  constexpr std::int64_t kRows = 5, kColumns = 40;
  Values x;
  for (std::int64_t i = 0; i < kRows * kColumns; ++i) x.push_back(number(i));
  const Values out = rounded(x, kColumns);
  double moved = 0;
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t c = 0; c < kColumns; c += 16) {
      const auto first = static_cast<std::size_t>(r * kColumns + c);
      const auto end = first + static_cast<std::size_t>(std::min<std::int64_t>(16, kColumns - c));
      double most = 0;
      for (std::size_t i = first; i < end; ++i) most = std::max(most, std::abs(x[i]));
      for (std::size_t i = first; i < end; ++i) {
        EXPECT_LE(std::abs(out[i] - x[i]), most / 6 * (1 + 1.0 / 16) + std::abs(x[i]) / 16);
        moved = std::max(moved, std::abs(out[i] - x[i]));
      }
    }
  }
  EXPECT_GT(moved, 0);
}

// A number of 1/100 beside one of 1 is lost, unless they have scales of their own.
TEST(Nvfp4, NumbersOfABlockShareAScale) {
  const Values x = {1, 0.01, 0.01, 0.01};  // (2, 2)
  EXPECT_EQ(rounded(x, 2, {1, 2})[1], 0);
  EXPECT_NEAR(rounded(x, 2, {1, 2})[3], 0.01, 0.01 / 16);
  EXPECT_EQ(rounded(x, 2, {2, 1})[2], 0);
  EXPECT_NEAR(rounded(x, 2, {2, 1})[1], 0.01, 0.01 / 16);
  EXPECT_EQ(rounded(x, 2, {2, 2})[3], 0);
}

TEST(Nvfp4, RoundsNoNumberTwice) {
  Values x;
  for (std::int64_t i = 0; i < 64; ++i) x.push_back(number(i));
  const Values once = rounded(x, 32);
  const Values twice = rounded(once, 32);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(twice[i], once[i], 1e-12);
}

}  // namespace plait::kernels::nvfp4_test
