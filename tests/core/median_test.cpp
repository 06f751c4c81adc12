#include "core/median.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace plait::median_test {

TEST(Median, IsTheValueInTheMiddle) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({3, 1, 2}), 2);
}

TEST(Median, OfAnEvenNumberIsTheMeanOfBoth) {
  EXPECT_EQ(median({4, 1}), 2.5);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Median, OfNothingThereIsNone) { EXPECT_THROW(median({}), InternalError); }

}  // namespace plait::median_test
