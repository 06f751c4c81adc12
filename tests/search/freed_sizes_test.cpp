// Which sizes keep layouts away.
#include "search/freed_sizes.h"

#include <gtest/gtest.h>

#include "tests/search/cases.h"

namespace plait::freed_sizes_test {

std::vector<FreedSize> freed(const Space& space) {
  Case c = small_case(1, 8, 1, 1);
  c.workload.global_batch = 16;
  return freed_sizes(space_in(scenario_of(c), space));
}

TEST(FreedSizes, ASizeThatDividesNothingIsNamedWithThoseThatDo) {
  Space space;
  space.tp = {3};
  const std::vector<FreedSize> sizes = freed(space);
  ASSERT_EQ(sizes.size(), 1U);
  EXPECT_EQ(sizes[0].field, "strategy.tp");
  EXPECT_EQ(sizes[0].asked, std::vector<std::int64_t>{3});
  for (const std::int64_t tp : sizes[0].others) EXPECT_EQ(8 % tp, 0);
}

/// Neither of two alone does.
TEST(FreedSizes, TwoThatKeepThemAwayAreNone) {
  Space space;
  space.tp = {3}, space.pp = {5};
  EXPECT_TRUE(freed(space).empty());
}

std::vector<UntriedSize> untried(const Space& space) {
  Case c = small_case(1, 8, 1, 1);
  c.workload.global_batch = 16;
  const Scenario scenario = scenario_of(c);
  return untried_sizes(space, all_layouts(space_in(scenario, space)));
}

/// Of 8 devices as 4 replicas two ranks are left for tp; 3 divides nothing, and 1 is tried with pp.
TEST(UntriedSizes, ValuesThatNoLayoutHasAreNamed) {
  Space space;
  space.dp = {4}, space.fsdp = {1}, space.cp = {1};
  space.tp = {1, 2, 3, 4};
  const std::vector<UntriedSize> sizes = untried(space);
  ASSERT_EQ(sizes.size(), 1U);
  EXPECT_EQ(sizes[0].field, "strategy.tp");
  EXPECT_EQ(sizes[0].values, (std::vector<std::int64_t>{3, 4}));
}

TEST(UntriedSizes, OneValueIsNoChoice) {
  Space space;
  space.dp = {8}, space.fsdp = {1}, space.tp = {1};
  EXPECT_TRUE(untried(space).empty());
}

/// Which of the two shards the state is a matter of names.
TEST(UntriedSizes, ReplicasOfBothNamesAreNotAskedAbout) {
  Space space;
  space.dp = {1, 8}, space.fsdp = {1, 8}, space.tp = {1};
  EXPECT_TRUE(untried(space).empty());
}

}  // namespace plait::freed_sizes_test
