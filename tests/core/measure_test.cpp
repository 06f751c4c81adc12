#include "core/measure.h"

#include <gtest/gtest.h>

namespace plait::measure_test {

TEST(Measure, KeepsTheUnitThatWasWritten) {
  const auto m = read_measure("100 Gbit/s");
  ASSERT_TRUE(m.has_value());
  EXPECT_EQ(m->number, 100);
  EXPECT_EQ(m->unit.name, "Gbit/s");
  EXPECT_EQ(m->base(), 100e9 / 8);
  EXPECT_TRUE(m->same_kind(*read_measure("\"50 GB/s\"")));
  EXPECT_FALSE(m->same_kind(*read_measure("2 us")));
  EXPECT_FALSE(m->same_kind(*read_measure("2")));
}

TEST(Measure, IsNothingForOtherTexts) {
  for (const char* text : {"", "compute", "[1,2]", "hgx-h100", "4 apples", "true", "1e999"}) {
    EXPECT_FALSE(read_measure(text).has_value()) << text;
  }
}

TEST(Measure, ThreeDigitsWithoutExponent) {
  const auto text = [](double number) { return to_text(Measure{number, {"GB/s", 1e9}, "x"}); };
  EXPECT_EQ(text(262.48), "262 GB/s");
  EXPECT_EQ(text(26248), "26200 GB/s");
  EXPECT_EQ(text(0.012345), "0.0123 GB/s");
  EXPECT_EQ(text(400), "400 GB/s");
  EXPECT_EQ(text(0), "0 GB/s");
  EXPECT_EQ(to_text(Measure{2.5}), "2.5");
}

}  // namespace plait::measure_test
