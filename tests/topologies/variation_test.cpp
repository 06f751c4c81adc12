// How much slower the slowest of several devices is.
#include "topologies/variation.h"

#include <gtest/gtest.h>

namespace plait::variation_test {

// The largest of n draws from an even spread over [-1, 1] is (n - 1) / (n + 1) on average: 0, 1/3,
// 7/9.
TEST(Variation, SlowestOfManyIsTheExpectedLargest) {
  EXPECT_DOUBLE_EQ(slowest_device(0.08, 1), 1);
  EXPECT_DOUBLE_EQ(slowest_device(0.08, 2), 1 + 0.04 / 3);
  EXPECT_DOUBLE_EQ(slowest_device(0.08, 8), 1 + 0.04 * 7 / 9);
  EXPECT_DOUBLE_EQ(slowest_device(0, 1024), 1);
}

}  // namespace plait::variation_test
