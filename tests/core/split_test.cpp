#include "core/split.h"

#include <gtest/gtest.h>

namespace plait::split_test {

TEST(Split, KeepsEmptyParts) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(split("a,b", ','), Parts({"a", "b"}));
  EXPECT_EQ(split(",a,,", ','), Parts({"", "a", "", ""}));
  EXPECT_EQ(split("", ','), Parts({""}));
}

TEST(Trimmed, KeepsWhatIsWithin) {
  EXPECT_EQ(trimmed(" \ta b\r"), "a b");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(trimmed("**a**", "*"), "a");
}

}  // namespace plait::split_test
