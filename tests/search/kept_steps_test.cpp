// A process keeps the steps of the fastest layouts that it simulated, and no others.
#include "search/kept_steps.h"

#include <gtest/gtest.h>

namespace plait::kept_steps_test {

std::shared_ptr<const EvaluatedStep> taking(SimTime step) {
  auto out = std::make_shared<EvaluatedStep>();
  out->step = step;
  return out;
}

TEST(KeptSteps, AreThoseOfTheTenFastest) {
  KeptSteps kept;
  for (std::uint32_t n = 0; n < 15; ++n) kept.offer(n, taking(100 - n));
  for (std::uint32_t n = 0; n < 5; ++n) EXPECT_EQ(kept.find(n), nullptr) << n;
  for (std::uint32_t n = 5; n < 15; ++n) EXPECT_EQ(kept.find(n)->step, 100 - n);
}

TEST(KeptSteps, OfEquallyFastOnesTheFirstAreKept) {
  KeptSteps kept;
  for (std::uint32_t n = 20; n-- > 0;) kept.offer(n, taking(7));
  EXPECT_NE(kept.find(9), nullptr);
  EXPECT_EQ(kept.find(10), nullptr);
}

TEST(KeptSteps, NothingIsKeptOfWhatWasNotSimulatedWhole) {
  KeptSteps kept;
  kept.offer(3, nullptr);
  EXPECT_EQ(kept.find(3), nullptr);
}

}  // namespace plait::kept_steps_test
