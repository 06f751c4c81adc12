#include "reports/break_even.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

namespace plait::break_even_test {

using Kind = BreakEven::Kind;

/// max(compute, bytes / v): the step of a link that overlaps perfectly.
Probe overlapped(double compute, double bytes) {
  return [=](double v) -> std::optional<Sample> {
    const bool linked = bytes / v > compute;
    return Sample{v, linked ? bytes / v : compute, linked ? "link" : "compute"};
  };
}

std::vector<BreakEven> of_kind(const std::vector<BreakEven>& all, Kind kind) {
  std::vector<BreakEven> out;
  std::ranges::copy_if(all, std::back_inserter(out), [=](auto& b) { return b.kind == kind; });
  return out;
}

TEST(BreakEven, AnOverlappedLinkNoLongerMattersWhereItIsAsFastAsCompute) {
  // 300 / v <= 1.01 from v = 297.03 on; the link bounds the step below 300.
  const auto found = break_evens({100, 400}, overlapped(1, 300));
  const auto enough = of_kind(found, Kind::kEnough), bound = of_kind(found, Kind::kBound);
  ASSERT_EQ(enough.size(), 1U);
  EXPECT_NEAR(enough[0].at, 300 / 1.01, 0.005 * 300);
  EXPECT_TRUE(enough[0].more_is_better);
  ASSERT_EQ(bound.size(), 1U);
  EXPECT_NEAR(bound[0].at, 300, 0.005 * 300);
  EXPECT_EQ(bound[0].below, "link");
  EXPECT_EQ(bound[0].above, "compute");
  EXPECT_TRUE(of_kind(found, Kind::kNotMonotone).empty());
}

RC_GTEST_PROP(BreakEven, OfAnExposedLinkItIsAHundredTimesTheBytesOverCompute, ()) {
  // compute + bytes / v <= 1.01 (compute + bytes / (1000 v_high)): v from 100 bytes / compute on,
  // up to the little that the unlimited link still takes.
  const double compute = 1, bytes = *rc::gen::inRange(1, 1000);
  const auto f = [=](double v) { return compute + bytes / v; };
  const Probe probe = [=](double v) { return std::optional(Sample{v, f(v), "x"}); };
  const auto enough = of_kind(break_evens({50 * bytes, 200 * bytes}, probe), Kind::kEnough);
  RC_ASSERT(enough.size() == 1U);
  RC_ASSERT(std::abs(enough[0].at / (100 * bytes) - 1) < 0.01);
}

TEST(BreakEven, ARiseBetweenTheValuesAskedForIsSaid) {
  // Between 440 and 455 a step takes 5 % longer: no power of two around these is in there.
  const Probe probe = [](double v) {
    return std::optional(Sample{v, (1 + 300 / v) * (v > 445 && v < 452 ? 1.05 : 1), "link"});
  };
  const auto rises = of_kind(break_evens({440, 450, 455}, probe), Kind::kNotMonotone);
  ASSERT_EQ(rises.size(), 1U);
  EXPECT_EQ(rises[0].low, 440);
  EXPECT_EQ(rises[0].high, 450);
}

TEST(BreakEven, OfALatencyLessIsBetter) {
  // 1 + v <= 1.01 (1 + what is left at a thousandth of the smallest): v up to a hundredth.
  const auto found = break_evens({0.01, 0.1}, [](double v) {
    return std::optional(Sample{v, 1 + v, "x"});
  });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, Kind::kEnough);
  EXPECT_FALSE(found[0].more_is_better);
  EXPECT_NEAR(found[0].at, 0.01, 0.0001);
}

TEST(BreakEven, WhatChangesLittleHasNoEffect) {
  const auto found = break_evens({1, 2}, [](double v) {
    return std::optional(Sample{v, 1 + 1e-4 * v, "x"});
  });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, Kind::kNoEffect);
  EXPECT_DOUBLE_EQ(found[0].low, 1.0 / 8);
  EXPECT_DOUBLE_EQ(found[0].high, 16);
}

TEST(BreakEven, ARiseTowardsTheBetterEndIsSaid) {
  // Another algorithm from 100 on, slower by 2 there.
  const auto found = break_evens({50, 200}, [](double v) {
    return std::optional(Sample{v, 100 / v + (v >= 100 ? 2.0 : 0.0), "x"});
  });
  const auto rises = of_kind(found, Kind::kNotMonotone);
  ASSERT_EQ(rises.size(), 1U);
  EXPECT_LT(rises[0].low, 100);
  EXPECT_GE(rises[0].high, 100);
  EXPECT_GT(rises[0].rise, 0);
}

TEST(BreakEven, ValuesThatCannotBeAreLeftOut) {
  // An oversubscription below 1 is refused, so 1 is the best there is: v <= 1.01.
  const auto found = break_evens({1, 4}, [](double v) -> std::optional<Sample> {
    if (v < 1) return std::nullopt;
    return Sample{v, v, "x"};
  });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, Kind::kEnough);
  EXPECT_NEAR(found[0].at, 1.01, 0.01);
  EXPECT_TRUE(break_evens({1, 4}, [](double) { return std::optional<Sample>(); }).empty());
  EXPECT_TRUE(break_evens({0}, overlapped(1, 1)).empty());
}

}  // namespace plait::break_even_test
