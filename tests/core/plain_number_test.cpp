#include "core/plain_number.h"

#include <gtest/gtest.h>

namespace plait::plain_number_test {

TEST(PlainNumber, IsOfPowersCurrenciesAndMarksBetweenDigits) {
  EXPECT_EQ(plain_number("15T"), "15e12");
  EXPECT_EQ(plain_number("1.5 trillion"), "1.5e12");
  EXPECT_EQ(plain_number("300B"), "300e9");
  EXPECT_EQ(plain_number("8k"), "8e3");
  EXPECT_EQ(plain_number("$2.5"), "2.5");
  EXPECT_EQ(plain_number("2.50 €"), "2.50");
  EXPECT_EQ(plain_number("15,000,000"), "15000000");
  EXPECT_EQ(plain_number("1_000"), "1000");
  EXPECT_EQ(plain_number("8"), "8");
}

TEST(PlainNumber, OfACountMayBeInPowersOfTwo) {
  EXPECT_EQ(plain_count("8k"), "8192 (8 x 1024) or 8e3");
  EXPECT_EQ(plain_count("128 K"), "131072 (128 x 1024) or 128e3");
  EXPECT_EQ(plain_count("1.5k"), "1.5e3");
  EXPECT_EQ(plain_count("15T"), "15e12");
  EXPECT_EQ(plain_count("1_000"), "1000");
  EXPECT_EQ(plain_count("full"), "");
}

TEST(PlainNumber, IsNoneOfOtherWords) {
  for (const char* text : {"", "T", "full", "2,5", "1e3k", "1 2", "15 TB", "$", "1,0000"}) {
    EXPECT_EQ(plain_number(text), "") << text;
  }
}

}  // namespace plait::plain_number_test
