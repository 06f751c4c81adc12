#include "core/error.h"

#include <gtest/gtest.h>

namespace plait::error_test {

TEST(InputError, MessageHasCodePlaceExpectationAndCure) {
  const Where where{"my.json", 14, 9, "strategy.tp"};
  const InputError e({.code = "S014",
                      .problem = "6 heads cannot be split over tp = 4",
                      .where = where,
                      .expected = "a divisor of 6",
                      .cure = "set strategy.tp to 1, 2, 3 or 6"});
  EXPECT_STREQ(e.what(),
               "error[S014]: 6 heads cannot be split over tp = 4\n"
               "  --> strategy.tp (my.json:14:9)\n"
               "  expected: a divisor of 6\n"
               "  cure: set strategy.tp to 1, 2, 3 or 6");
}

TEST(InputError, UnknownPartsAreLeftOut) {
  EXPECT_STREQ(InputError({.code = "J001", .problem = "p"}).what(), "error[J001]: p");
  EXPECT_STREQ(InputError({.code = "J001", .problem = "p", .where = {"f", 0, 0, ""}}).what(),
               "error[J001]: p\n  --> f");
  EXPECT_STREQ(InputError({.code = "J001", .problem = "p", .where = {"f", 7, 0, ""}}).what(),
               "error[J001]: p\n  --> f:7");
  EXPECT_STREQ(InputError({.code = "J001", .problem = "p", .where = {"", 0, 0, "a.b"}}).what(),
               "error[J001]: p\n  --> a.b");
}

TEST(Nearest, FindsTyposAndNothingElse) {
  EXPECT_EQ(nearest("spoke", {"rim", "spokes"}), "spokes");
  EXPECT_EQ(nearest("zzz", {"rim", "spokes"}), "");
}

}  // namespace plait::error_test
