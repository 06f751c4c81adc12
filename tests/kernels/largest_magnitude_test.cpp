#include "kernels/largest_magnitude.h"

#include <gtest/gtest.h>

#include <vector>

namespace plait::kernels::largest_magnitude_test {

TEST(LargestMagnitude, IsThatOfANumberOfEitherSign) {
  const std::vector<double> x = {1, -3, 2};
  EXPECT_EQ(largest_magnitude(x.data(), 3), 3);
  EXPECT_EQ(largest_magnitude(x.data(), 1), 1);
}

TEST(LargestMagnitude, OfNoNumberIsNought) { EXPECT_EQ(largest_magnitude<float>(nullptr, 0), 0); }

}  // namespace plait::kernels::largest_magnitude_test
