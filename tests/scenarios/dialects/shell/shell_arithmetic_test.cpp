// $((A * 2 + 1)): what a shell makes of it.

#include "scenarios/dialects/shell/shell_arithmetic.h"

#include <gtest/gtest.h>

#include "scenarios/dialects/shell/shell_words.h"

namespace plait::shell_arithmetic_test {

std::optional<std::int64_t> value_of(std::string_view text) {
  return shell_arithmetic(text, [](std::string_view name) -> std::optional<std::string> {
    if (name == "N") return "3";
    if (name == "TEXT") return "abc";
    return std::nullopt;
  });
}

TEST(ShellArithmetic, OperatorsBindAsInAShell) {
  EXPECT_EQ(value_of("2 + 3 * 4"), 2 + 3 * 4);
  EXPECT_EQ(value_of("(2 + 3) * 4"), (2 + 3) * 4);
  EXPECT_EQ(value_of("20 - 4 - 2"), 20 - 4 - 2);  // from the left
  EXPECT_EQ(value_of("7 / 2 * 2 + 7 % 2"), 7);
  EXPECT_EQ(value_of("-$N+ -2"), -5);
  EXPECT_EQ(value_of("N*${N}"), 9);
  EXPECT_EQ(value_of("N > 2 && !(N == 4) || 0"), 1);
  EXPECT_EQ(value_of("N <= 2"), 0);
}

TEST(ShellArithmetic, ATestChoosesOneOfTwo) {
  EXPECT_EQ(value_of("N > 2 ? 10 + 1 : 20"), 11);
  EXPECT_EQ(value_of("N > 4 ? 10 : N == 3 ? 20 : 30"), 20);
  EXPECT_EQ(value_of("(N == 4 ? 1 : 2) * 3"), 6);
  EXPECT_EQ(value_of("N ? 1 : 0 ? 2 : 3"), 1);
  for (const char* text : {"N ? 1", "N ? : 2", "M ? 1 : 2", "? 1 : 2"}) {
    EXPECT_EQ(value_of(text), std::nullopt) << text;
  }
}

TEST(ShellArithmetic, WhatOnlyARunKnowsHasNoValue) {
  for (const char* text : {"", "M", "$1", "TEXT + 1", "1 / 0", "2 ** 3", "N = 4", "(1", "1 +",
                           "08x", "9223372036854775807 + 1", "1 << 2"}) {
    EXPECT_EQ(value_of(text), std::nullopt) << text;
  }
}

TEST(ShellArithmetic, NestingHasAnEnd) {
  const std::string deep(100000, '(');
  EXPECT_EQ(value_of(deep), std::nullopt);
  std::string choices;
  for (int i = 0; i < 100000; ++i) choices += "1?";
  EXPECT_EQ(value_of(choices), std::nullopt);
}

TEST(ShellArithmetic, ItsValueStandsInTheScript) {
  const auto last = [](const std::string& script) {
    return shell_words(script, "run.sh").back().text;
  };
  EXPECT_EQ(last("A=2\nB=$((A * (A + 1)))\nrun --n $B"), "6");
  EXPECT_EQ(last("A=2\nrun --n $[A + 1]"), "3");
  EXPECT_EQ(last("A=2\nif (( A > 1 )); then run --yes; else run --no; fi"), "--yes");
  EXPECT_EQ(last("A=2\nrun --n 1\n(( A > 2 )) && run --more"), "1");
}

}  // namespace plait::shell_arithmetic_test
