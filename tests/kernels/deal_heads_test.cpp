#include "kernels/deal_heads.h"

#include "tests/kernels/reference.h"

namespace plait::kernels::deal_heads_test {

template <class T>
class DealHeads : public ::testing::Test {};
TYPED_TEST_SUITE(DealHeads, Precisions);

/// Two query heads of two columns, one for each rank; one key head, which both have; no values.
constexpr HeadShares kShares{.rows = 1, .ranks = 2, .whole = {4, 1, 0}, .part = {2, 1, 0}};

TYPED_TEST(DealHeads, GivesEachRankItsHeadsAndAllWhatTheyShare) {
  using T = TypeParam;
  const std::vector<T> whole = {1, 2, 3, 4, 9};
  auto parts = poisoned<T>(6);
  deal_heads(parts.data(), whole.data(), kShares);
  EXPECT_EQ(parts, (std::vector<T>{1, 2, 9, 3, 4, 9}));
}

TYPED_TEST(DealHeads, AddsUpWhatSeveralRanksHave) {
  using T = TypeParam;
  const std::vector<T> parts = {1, 2, 10, 3, 4, 20};
  auto whole = poisoned<T>(5);
  collect_heads(whole.data(), parts.data(), kShares);
  EXPECT_EQ(whole, (std::vector<T>{1, 2, 3, 4, 30}));
}

}  // namespace plait::kernels::deal_heads_test
