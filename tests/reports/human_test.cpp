#include "reports/human.h"

#include <gtest/gtest.h>

namespace plait::human_test {

TEST(Human, ThreeSignificantDigitsWithTheUnitThatFits) {
  EXPECT_EQ(human_time(4.213), "4.21 s");
  EXPECT_EQ(human_time(0.0421), "42.1 ms");
  EXPECT_EQ(human_time(421e-6), "421 us");
  EXPECT_EQ(human_time(1.5e-9), "1.50 ns");
  EXPECT_EQ(human_time(0), "0 s");
  EXPECT_EQ(human_rate(1994000), "1.99 M");
  EXPECT_EQ(human_rate(243), "243");
}

TEST(Human, RoundingUpMovesToTheNextUnit) {
  EXPECT_EQ(human_time(0.99996), "1.00 s");
  EXPECT_EQ(human_rate(999.9), "1.00 k");
  EXPECT_EQ(human_bytes((std::int64_t{1} << 30) - 1), "1.0 GiB");
  EXPECT_EQ(human_parameters(999'885'952), "1.0 B");
  EXPECT_EQ(human_parameters(999'400'000), "999 M");
}

TEST(Human, BytesArePowersOf1024) {
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(80LL << 30), "80.0 GiB");
  EXPECT_EQ(human_bytes(-(3LL << 20)), "-3.0 MiB");
}

TEST(Human, CountsHaveSeparators) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(16384), "16,384");
  EXPECT_EQ(human_count(-1234567), "-1,234,567");
}

TEST(Human, MoneyHasFourDigitsAndNoExponent) {
  EXPECT_EQ(human_money(0.01505), "0.01505");
  EXPECT_EQ(human_money(0.0000314159), "0.00003142");
  EXPECT_EQ(human_money(50.7235), "50.72");
  EXPECT_EQ(human_money(23789423), "23,789,423");
  EXPECT_EQ(human_money(1.5e30), "1.5e+30") << "more than can be counted";
}

TEST(Human, NothingIsNeitherMoreNorLess) {
  EXPECT_EQ(human_change(-0.0001), "0.0 %");
  EXPECT_EQ(human_change(-0.021), "-2.1 %");
  EXPECT_EQ(human_change(0.1), "+10.0 %");
  EXPECT_EQ(human_change(16.397), "+1640 %");
  EXPECT_EQ(human_percent(24.21), "2421 %");
}

}  // namespace plait::human_test
