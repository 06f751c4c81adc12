#include "core/parse_number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace plait::parse_number_test {

TEST(ParseNumber, IsOfAWholeText) {
  EXPECT_EQ(parse_number<std::int64_t>("-12"), -12);
  EXPECT_EQ(parse_number<double>("1e3"), 1000);
  for (const char* text : {"", " 8", "8 ", "8x", "x", "+8", "1.5"}) {
    EXPECT_EQ(parse_number<std::int64_t>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_number<double>("1.5 GB"), std::nullopt);
}

TEST(ParseNumber, IsWithinItsType) {
  EXPECT_EQ(parse_number<std::int64_t>("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_number<std::int64_t>("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_number<std::uint32_t>("-1"), std::nullopt);
  for (const char* text : {"1e999", "inf", "nan"}) {
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
  }
}

}  // namespace plait::parse_number_test
