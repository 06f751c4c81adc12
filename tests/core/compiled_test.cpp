#include "core/compiled.h"

#include <gtest/gtest.h>

#include <thread>

namespace plait::compiled_test {

TEST(Compiled, OncePerThreadWhateverElseIsCompiled) {
  const std::regex* first = &compiled("a+");
  for (int i = 0; i < 100; ++i) compiled("b{" + std::to_string(i) + "}");
  EXPECT_EQ(&compiled("a+"), first);
  EXPECT_TRUE(std::regex_match("aa", compiled("a+")));
  EXPECT_FALSE(std::regex_match("ab", compiled("a+")));
  const std::regex* elsewhere = nullptr;
  std::thread([&] { elsewhere = &compiled("a+"); }).join();
  EXPECT_NE(elsewhere, first);
}

TEST(Compiled, WhatIsNoPatternIsRefusedEachTime) {
  EXPECT_THROW(compiled("("), std::regex_error);
  EXPECT_THROW(compiled("("), std::regex_error);
}

}  // namespace plait::compiled_test
