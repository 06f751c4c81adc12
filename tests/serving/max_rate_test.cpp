// The search for the highest rate, over answers that are known.
#include "serving/max_rate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

namespace plait::max_rate_test {

/// An engine that attains its objectives up to `capacity` requests a second.
MaxRate found(double from, double capacity) {
  return max_rate(from, [capacity](double rate) { return rate <= capacity; });
}

// From wherever the search begins it ends within 1 % of the capacity, below it, and a bracket that
// is so narrow takes log2 of the distance, log2(ln 2 / ln 1.01) = 6.1 halvings of a factor of 2.
RC_GTEST_PROP(MaxRate, IsWithinOnePercentBelowTheCapacity, ()) {
  const double capacity = std::exp(*rc::gen::inRange(-4000, 8000) / 1000.0);
  const double distance = *rc::gen::inRange(-9000, 9000) / 1000.0;  // in factors of 2
  const MaxRate m = found(capacity * std::exp2(distance), capacity);
  RC_ASSERT(m.rate_per_s <= capacity && capacity < m.missed_per_s);
  RC_ASSERT(m.missed_per_s <= m.rate_per_s * (1 + kRateWidth) * (1 + 1e-12));
  RC_ASSERT(static_cast<double>(m.runs) <= std::abs(distance) + 3 + 8);
}

RC_GTEST_PROP(MaxRate, HasThreeSignificantDigits, ()) {
  const double rate = std::exp(*rc::gen::inRange(-9000, 12000) / 1000.0);
  const double r = rounded_rate(rate);
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", r);
  RC_ASSERT(std::stod(text) == r);  // what is printed is the number itself
  RC_ASSERT(std::abs(r / rate - 1) <= 0.00501);
}

TEST(MaxRate, IsNoneWhereNoRateAttains) {
  const MaxRate m = max_rate(8, [](double) { return false; });
  EXPECT_EQ(m.rate_per_s, 0);
  EXPECT_EQ(m.missed_per_s, rounded_rate(8 / kRateRange));
}

TEST(MaxRate, LooksNoLowerThanItIsTold) {
  double lowest = 8;
  const auto no = [&](double rate) { return lowest = std::min(lowest, rate), false; };
  max_rate(8, no, 1);
  EXPECT_EQ(lowest, 1);
}

TEST(MaxRate, HasNoEndWhereEachAttains) {
  const MaxRate m = max_rate(8, [](double) { return true; });
  EXPECT_EQ(m.rate_per_s, rounded_rate(8 * kRateRange));
  EXPECT_EQ(m.missed_per_s, 0);
}

}  // namespace plait::max_rate_test
