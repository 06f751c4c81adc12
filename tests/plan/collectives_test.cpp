#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "tests/plan/collectives_group.h"

namespace plait::collectives_test {

/// Numbers of very different size, whose float sum depends on the order of addition.
std::vector<Elements> order_matters(std::int64_t members, std::int64_t elements) {
  std::vector<Elements> out = integers(members, elements);
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (float& v : out[i]) v = (i % 2 == 0 ? 1.0F : -1.0F) * std::exp(0.01F * v) / 3.0F;
  }
  return out;
}

void expect_range(const Elements& got, const Elements& want, Range share, std::size_t member) {
  for (std::int64_t k = share.first; k < share.first + share.elements; ++k) {
    const auto at = static_cast<std::size_t>(k);
    ASSERT_EQ(got[at], want[at]) << "member " << member << ", element " << k;
  }
}

Elements sum_of(const std::vector<Elements>& input) {
  Elements sum(input[0].size(), 0.0F);
  for (const Elements& v : input) {
    for (std::size_t k = 0; k < v.size(); ++k) sum[k] += v[k];
  }
  return sum;
}

/// What member `i` must hold afterwards of the share of member `peer`.
void expect_share(CollectiveKind kind, const Elements& got, const std::vector<Elements>& input,
                  std::size_t i, std::size_t peer) {
  const auto n = static_cast<std::int64_t>(input.size());
  const auto elements = static_cast<std::int64_t>(input[0].size());
  const Range share = share_of(elements, n, static_cast<std::int64_t>(peer));
  const Range own = share_of(elements, n, static_cast<std::int64_t>(i));
  if (kind == CollectiveKind::kAllGather) expect_range(got, input[peer], share, i);
  if (kind == CollectiveKind::kBroadcast) expect_range(got, input[0], share, i);
  if (kind != CollectiveKind::kAllToAll || peer == i) return;
  for (std::int64_t k = 0; k < share.elements; ++k) {
    ASSERT_EQ(got[static_cast<std::size_t>(share.first + k)],
              input[peer][static_cast<std::size_t>(own.first + k)]);
  }
}

// Everyone's buffer is with the next member after one round of one message each way.
TEST(Shift, GivesEachMemberWhatTheOneBeforeHad) {
  for (const std::int64_t n : {2, 3, 5}) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto rounds = rounds_of({Pattern::kDirect}, CollectiveKind::kShift, n, i, 7);
      ASSERT_EQ(rounds.size(), 1U);
      ASSERT_EQ(rounds[0].size(), 2U);
      const Transfer &out = rounds[0][0], &in = rounds[0][1];
      EXPECT_EQ(out.direction, Direction::kSend);
      EXPECT_EQ(out.peer, (i + 1) % n);
      EXPECT_EQ(out.range.first, 0);
      EXPECT_EQ(in.direction, Direction::kReceive);
      EXPECT_EQ(in.peer, (i + n - 1) % n);
      EXPECT_EQ(in.range.first, 7);
      EXPECT_EQ(in.range.elements, 7);
    }
  }
}

class EveryArrangement : public testing::TestWithParam<Case> {};

TEST_P(EveryArrangement, GivesEveryMemberItsResult) {
  const Case c = GetParam();
  for_each_size(c, [&](std::int64_t n, std::int64_t elements) {
    const std::vector<Elements> input = integers(n, elements);
    const Elements sum = sum_of(input);
    const std::vector<Elements> got = Group(c, n, elements).run(input);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Range own = share_of(elements, n, static_cast<std::int64_t>(i));
      if (c.kind == CollectiveKind::kAllReduce) expect_range(got[i], sum, {0, elements}, i);
      if (c.kind == CollectiveKind::kReduceScatter) expect_range(got[i], sum, own, i);
      for (std::size_t p = 0; p < got.size(); ++p) expect_share(c.kind, got[i], input, i, p);
    }
  });
}

// Not so in one shot: there each member begins with its own addend.
TEST_P(EveryArrangement, AllReduceHasTheSameBitsOnEveryMember) {
  const Case c = GetParam();
  if (c.kind != CollectiveKind::kAllReduce || c.arrangement.pattern == Pattern::kOneShot) return;
  for_each_size(c, [&](std::int64_t n, std::int64_t elements) {
    const std::vector<Elements> got = Group(c, n, elements).run(order_matters(n, elements));
    for (const Elements& v : got) {
      ASSERT_EQ(v.size(), got[0].size());
      if (v.empty()) continue;  // memcmp wants a pointer
      ASSERT_EQ(std::memcmp(v.data(), got[0].data(), v.size() * sizeof(float)), 0);
    }
  });
}

TEST_P(EveryArrangement, MovesNothingWhereThereIsNothingToDo) {
  const Case c = GetParam();
  const std::int64_t g = c.arrangement.members_per_node;
  Arrangement alone = c.arrangement;
  alone.members_per_node = 1;
  EXPECT_TRUE(rounds_of(alone, c.kind, 1, 0, 100).empty());
  EXPECT_TRUE(rounds_of(c.arrangement, c.kind, 2 * g, g, 0).empty());
}

// The k-th send from p to q is the k-th receive of q from p, of the same size.
TEST_P(EveryArrangement, MatchesSendsWithReceivesPairByPair) {
  const Case c = GetParam();
  for_each_size(c, [&](std::int64_t n, std::int64_t elements) {
    using Sizes = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>>;
    Sizes sends, receives;
    const Group group(c, n, elements);
    for (std::int64_t i = 0; i < n; ++i) {
      for (const Round& round : group.rounds[static_cast<std::size_t>(i)]) {
        ASSERT_FALSE(round.empty());
        for (const Transfer& t : round) {
          ASSERT_NE(t.peer, i);
          if (t.peer == kSwitch) continue;
          const bool send = t.direction == Direction::kSend;
          const auto pair = send ? std::pair(i, t.peer) : std::pair(t.peer, i);
          (send ? sends : receives)[pair].push_back(t.range.elements);
        }
      }
    }
    EXPECT_EQ(sends, receives);
  });
}

// What arrives may be written at once: nothing else of the round reads or writes there.
TEST_P(EveryArrangement, ReplacesNothingThatTheSameRoundUses) {
  const Case c = GetParam();
  for_each_size(c, [&](std::int64_t n, std::int64_t elements) {
    const Group group(c, n, elements);
    for (const std::vector<Round>& rounds : group.rounds) {
      for (const Round& round : rounds) {
        std::map<std::int64_t, int> used, replaced;  // by element
        for (const Transfer& t : round) {
          if (t.peer == kSwitch) continue;
          const bool replaces = t.direction == Direction::kReceive && !t.combine;
          for (std::int64_t k = 0; k < t.range.elements; ++k) {
            ++used[t.range.first + k];
            if (replaces) ++replaced[t.range.first + k];
          }
        }
        for (const auto& [element, times] : replaced) ASSERT_EQ(used[element], 1) << element;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Collectives, EveryArrangement, testing::ValuesIn(cases()),
                         [](const auto& p) { return label(p.param); });

TEST(Share, SharesTileTheBuffer) {
  for_each_size({CollectiveKind::kAllGather, {}}, [](std::int64_t n, std::int64_t elements) {
    std::int64_t end = 0;
    for (std::int64_t p = 0; p < n; ++p) {
      const Range share = share_of(elements, n, p);
      EXPECT_EQ(share.first, elements * p / n);
      EXPECT_EQ(share.first, end);
      end += share.elements;
    }
    EXPECT_EQ(end, elements);
  });
}

TEST(PatternOf, SmallAllReduceDoublesAndLargeOnesGoRound) {
  for (std::int64_t n = 2; n <= 64; ++n) {
    EXPECT_EQ(pattern_of(CollectiveKind::kAllReduce, n, Bytes(1024)), Pattern::kRecursiveDoubling);
    EXPECT_EQ(pattern_of(CollectiveKind::kAllReduce, n, Bytes(1 << 20)), Pattern::kRing);
  }
}

TEST(PatternOf, KnowsEveryKind) {
  for (CollectiveKind kind : kKinds) {
    EXPECT_TRUE(knows(pattern_of(kind, 4, Bytes(1 << 24)), kind));
  }
}

TEST(RoundsOf, RefusesWhatCannotBeArranged) {
  const CollectiveKind reduce = CollectiveKind::kAllReduce;
  EXPECT_ANY_THROW(rounds_of({Pattern::kBinomial}, reduce, 4, 1, 8));
  EXPECT_ANY_THROW(rounds_of({Pattern::kDirect}, CollectiveKind::kAllToAll, 3, 0, 10));
  EXPECT_ANY_THROW(rounds_of({.members_per_node = 3}, reduce, 4, 1, 8));
  EXPECT_ANY_THROW(rounds_of({.channels = 0}, reduce, 4, 1, 8));
  EXPECT_ANY_THROW(rounds_of({.pattern = Pattern::kTree, .chunks = 0}, reduce, 4, 1, 8));
  EXPECT_ANY_THROW(rounds_of(
      {.pattern = Pattern::kHierarchical, .members_per_node = 2, .between = Pattern::kHierarchical},
      reduce, 4, 1, 8));
  EXPECT_ANY_THROW(rounds_of(
      {.pattern = Pattern::kHierarchical, .members_per_node = 2, .within = Pattern::kTree}, reduce,
      4, 1, 8));
}

}  // namespace plait::collectives_test
