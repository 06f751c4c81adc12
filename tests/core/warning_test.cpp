#include "core/warning.h"

#include <gtest/gtest.h>

namespace plait::warning_test {
namespace {

TEST(Warning, IsPrintedWithItsCode) {
  EXPECT_EQ(printed(Warning{"W001", "strategy.data has no effect", "strategy.data"}),
            "W001: strategy.data has no effect");
}

TEST(Warning, WhatWasPrintedIsReadBack) {
  const Warning read = read_warning("W001: a: b");
  EXPECT_EQ(read.code, "W001");
  EXPECT_EQ(read.text, "a: b");
  for (const char* line : {"W001: a: b", "of no code", ": of none", ""}) {
    EXPECT_EQ(printed(read_warning(line)), line);
  }
}

}  // namespace
}  // namespace plait::warning_test
