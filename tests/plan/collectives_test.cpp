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

void expect_results(CollectiveKind kind, Group& group, std::int64_t elements) {
  const std::vector<Elements> input = integers(group.n, elements);
  const Elements sum = sum_of(input);
  const std::vector<Elements> got = group.run(input);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Range own = share_of(elements, group.n, static_cast<std::int64_t>(i));
    if (kind == CollectiveKind::kAllReduce) expect_range(got[i], sum, {0, elements}, i);
    if (kind == CollectiveKind::kReduceScatter) expect_range(got[i], sum, own, i);
    for (std::size_t p = 0; p < got.size(); ++p) expect_share(kind, got[i], input, i, p);
  }
}

void expect_same_bits(Group& group, std::int64_t elements) {
  const std::vector<Elements> got = group.run(order_matters(group.n, elements));
  for (const Elements& v : got) {
    ASSERT_EQ(v.size(), got[0].size());
    if (v.empty()) continue;  // memcmp wants a pointer
    ASSERT_EQ(std::memcmp(v.data(), got[0].data(), v.size() * sizeof(float)), 0);
  }
}

/// The k-th send from p to q is the k-th receive of q from p, of the same size.
void expect_sends_match_receives(const Group& group) {
  using Sizes = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>>;
  Sizes sends, receives;
  for (std::int64_t i = 0; i < group.n; ++i) {
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
}

bool apart(Range a, Range b) {
  return a.first + a.elements <= b.first || b.first + b.elements <= a.first;
}
/// What arrives may be written at once: nothing else of the round reads or writes there.
void expect_replaced_is_not_used(const Group& group) {
  for (const std::vector<Round>& rounds : group.rounds) {
    for (const Round& round : rounds) {
      for (const Transfer& t : round) {
        if (t.peer == kSwitch || t.direction != Direction::kReceive || t.combine) continue;
        for (const Transfer& other : round) {
          if (&other == &t || other.peer == kSwitch) continue;
          ASSERT_TRUE(apart(t.range, other.range)) << t.range.first << ", " << other.range.first;
        }
      }
    }
  }
}

class EveryArrangement : public testing::TestWithParam<ArrangementCase> {};

/// All claims of one size beside one another: what takes time is to make the rounds.
TEST_P(EveryArrangement, GivesEveryMemberItsResult) {
  const ArrangementCase c = GetParam();
  // Not so in one shot: there each member begins with its own addend.
  const bool same_order =
      c.kind == CollectiveKind::kAllReduce && c.arrangement.pattern != Pattern::kOneShot;
  for_each_size(c, [&](std::int64_t n, std::int64_t elements) {
    Group group(c, n, elements);
    expect_sends_match_receives(group);
    expect_replaced_is_not_used(group);
    expect_results(c.kind, group, elements);
    if (same_order) expect_same_bits(group, elements);
  });
}

TEST_P(EveryArrangement, MovesNothingWhereThereIsNothingToDo) {
  const ArrangementCase c = GetParam();
  const std::int64_t g = c.arrangement.members_per_node;
  Arrangement alone = c.arrangement;
  alone.members_per_node = 1;
  EXPECT_TRUE(rounds_of(alone, c.kind, 1, 0, 100).empty());
  EXPECT_TRUE(rounds_of(c.arrangement, c.kind, 2 * g, g, 0).empty());
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
