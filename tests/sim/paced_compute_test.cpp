#include "sim/flow/paced_compute.h"

#include <gtest/gtest.h>

namespace plait::paced_compute_test {

constexpr int kSms = 100;

TEST(PacedCompute, AKernelGoesOnAtThePaceOfWhatIsFree) {
  PacedCompute compute(kSms);
  compute.start(0, 1000);
  compute.hold(20);
  EXPECT_TRUE(compute.settle(0));
  EXPECT_EQ(compute.end(), 1250);
  compute.hold(-20);
  EXPECT_TRUE(compute.settle(500));  // 400 are done
  EXPECT_EQ(compute.end(), 1100);
}

TEST(PacedCompute, AKernelOfDaysIsSlowedLikeAnother) {
  constexpr SimTime kDay = 24 * 3600 * kPicosecondsPerSecond;
  PacedCompute compute(kSms);
  compute.start(0, 16 * kDay);
  compute.hold(20);
  compute.settle(0);
  EXPECT_EQ(compute.end(), 20 * kDay);
}

}  // namespace plait::paced_compute_test
