#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <tuple>

#include "plan/collectives/rounds.h"

namespace plait {
namespace {

using Values = std::vector<float>;

struct Case {
  Pattern pattern;
  CollectiveKind kind;
};
constexpr Case kCases[] = {{Pattern::kRing, CollectiveKind::kAllReduce},
                           {Pattern::kRing, CollectiveKind::kAllGather},
                           {Pattern::kRing, CollectiveKind::kReduceScatter},
                           {Pattern::kRecursiveDoubling, CollectiveKind::kAllReduce},
                           {Pattern::kDirect, CollectiveKind::kAllToAll},
                           {Pattern::kBinomial, CollectiveKind::kBroadcast}};

/// What all members of a group do, and what became of their buffers.
class Group {
 public:
  Group(Case c, std::int64_t members, std::int64_t elements)
      : n(members), elements_(elements), out_of_place_(c.kind == CollectiveKind::kAllToAll) {
    for (std::int64_t i = 0; i < members; ++i) {
      rounds.push_back(rounds_of({c.pattern}, c.kind, members, i, elements));
    }
  }

  /// Executes the rounds; `input[i]` is member i's buffer. Every message must be received.
  std::vector<Values> run(const std::vector<Values>& input) {
    input_ = input;
    output_ =
        out_of_place_ ? std::vector<Values>(input.size(), Values(input[0].size(), -1.0F)) : input;
    at_.assign(rounds.size(), {});
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < rounds.size(); ++i) moved = advance(i) || moved;
    }
    for (std::size_t i = 0; i < rounds.size(); ++i) EXPECT_EQ(at_[i].round, rounds[i].size());
    for (const auto& [pair, queue] : wire_) EXPECT_TRUE(queue.empty());
    return output_;
  }

  std::int64_t sent(std::size_t member) const { return moved(member, Direction::kSend); }
  std::int64_t received(std::size_t member) const { return moved(member, Direction::kReceive); }
  std::int64_t sent_by_all() const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < rounds.size(); ++i) sum += sent(i);
    return sum;
  }

  std::int64_t n;
  std::vector<std::vector<Round>> rounds;  // per member

 private:
  struct Place {
    std::size_t round = 0;
    bool begun = false;
    std::vector<bool> done;
  };
  std::int64_t moved(std::size_t member, Direction direction) const {
    std::int64_t sum = 0;
    for (const Round& r : rounds[member]) {
      for (const Transfer& t : r) sum += t.direction == direction ? t.range.elements : 0;
    }
    return sum;
  }
  /// Sends of a round leave when it begins; it ends when all of its receives have been met.
  bool advance(std::size_t i) {
    Place& at = at_[i];
    if (at.round == rounds[i].size()) return false;
    const Round& round = rounds[i][at.round];
    const bool begins = !at.begun;
    if (begins) begin(i, round);
    bool all = true, any = begins;
    for (std::size_t k = 0; k < round.size(); ++k) {
      if (!at.done[k]) at.done[k] = receive(i, round[k]), any = any || at.done[k];
      all = all && at.done[k];
    }
    if (all) at = {at.round + 1, false, {}};
    return any;
  }
  void begin(std::size_t i, const Round& round) {
    const Values& from = out_of_place_ ? input_[i] : output_[i];
    at_[i].begun = true;
    for (const Transfer& t : round) {
      at_[i].done.push_back(t.direction == Direction::kSend);
      ASSERT_GT(t.range.elements, 0);
      ASSERT_LE(t.range.first + t.range.elements, elements_);
      if (t.direction == Direction::kReceive) continue;
      const auto first = from.begin() + t.range.first;
      wire_[{static_cast<std::int64_t>(i), t.peer}].emplace_back(first, first + t.range.elements);
    }
  }
  bool receive(std::size_t i, const Transfer& t) {
    std::deque<Values>& queue = wire_[{t.peer, static_cast<std::int64_t>(i)}];
    if (queue.empty()) return false;
    EXPECT_EQ(queue.front().size(), static_cast<std::size_t>(t.range.elements));
    for (std::size_t k = 0; k < queue.front().size(); ++k) {
      float& to = output_[i][static_cast<std::size_t>(t.range.first) + k];
      to = t.combine ? to + queue.front()[k] : queue.front()[k];
    }
    queue.pop_front();
    return true;
  }

  std::int64_t elements_;
  bool out_of_place_;
  std::vector<Values> input_, output_;
  std::vector<Place> at_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::deque<Values>> wire_;
};

/// Member i's element k: small integers, whose sums are exact in any order.
std::vector<Values> integers(std::int64_t members, std::int64_t elements) {
  std::vector<Values> out;
  for (std::int64_t i = 0; i < members; ++i) {
    out.emplace_back();
    for (std::int64_t k = 0; k < elements; ++k) {
      out.back().push_back(static_cast<float>(100 * i + k % 97));
    }
  }
  return out;
}

/// Numbers of very different size, whose float sum depends on the order of addition.
std::vector<Values> order_matters(std::int64_t members, std::int64_t elements) {
  std::vector<Values> out = integers(members, elements);
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (float& v : out[i]) v = (i % 2 == 0 ? 1.0F : -1.0F) * std::exp(0.01F * v) / 3.0F;
  }
  return out;
}

void expect_shares(const Values& got, const Values& want, Range share, std::size_t member) {
  for (std::int64_t k = share.first; k < share.first + share.elements; ++k) {
    const auto at = static_cast<std::size_t>(k);
    ASSERT_EQ(got[at], want[at]) << "member " << member << ", element " << k;
  }
}

Values sum_of(const std::vector<Values>& input) {
  Values sum(input[0].size(), 0.0F);
  for (const Values& v : input) {
    for (std::size_t k = 0; k < v.size(); ++k) sum[k] += v[k];
  }
  return sum;
}

/// Calls f(members, elements) for groups of 2 to 9 and none, one, few, odd and many elements.
template <class F>
void for_each_size(CollectiveKind kind, F&& f) {
  for (std::int64_t n = 1; n <= 9; ++n) {
    for (std::int64_t elements : {std::int64_t{0}, std::int64_t{1}, n - 1, n, 2 * n + 1, 7 * n,
                                  std::int64_t{101}, std::int64_t{1000}}) {
      if (kind == CollectiveKind::kAllToAll) elements -= elements % n;
      SCOPED_TRACE("members " + std::to_string(n) + ", elements " + std::to_string(elements));
      f(n, elements);
      if (testing::Test::HasFailure()) return;
    }
  }
}

class EveryPattern : public testing::TestWithParam<Case> {};

TEST_P(EveryPattern, GivesEveryMemberItsResult) {
  const Case c = GetParam();
  for_each_size(c.kind, [&](std::int64_t n, std::int64_t elements) {
    std::vector<Values> input = integers(n, elements);
    const Values sum = sum_of(input);
    const std::vector<Values> got = Group(c, n, elements).run(input);
    const Range all{0, elements};
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Range own = share_of(elements, n, static_cast<std::int64_t>(i));
      for (std::int64_t p = 0; p < n; ++p) {
        const Range share = share_of(elements, n, p);
        const auto peer = static_cast<std::size_t>(p);
        if (c.kind == CollectiveKind::kAllGather) expect_shares(got[i], input[peer], share, i);
        if (c.kind != CollectiveKind::kAllToAll || peer == i) continue;
        for (std::int64_t k = 0; k < share.elements; ++k) {
          ASSERT_EQ(got[i][static_cast<std::size_t>(share.first + k)],
                    input[peer][static_cast<std::size_t>(own.first + k)]);
        }
      }
      if (c.kind == CollectiveKind::kAllReduce) expect_shares(got[i], sum, all, i);
      if (c.kind == CollectiveKind::kReduceScatter) expect_shares(got[i], sum, own, i);
      if (c.kind == CollectiveKind::kBroadcast) expect_shares(got[i], input[0], all, i);
    }
  });
}

TEST_P(EveryPattern, MovesNothingInAGroupOfOne) {
  EXPECT_TRUE(rounds_of({GetParam().pattern}, GetParam().kind, 1, 0, 100).empty());
}

// The k-th send from p to q is the k-th receive of q from p, of the same size.
TEST_P(EveryPattern, MatchesSendsWithReceivesPairByPair) {
  const Case c = GetParam();
  for_each_size(c.kind, [&](std::int64_t n, std::int64_t elements) {
    using Sizes = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>>;
    Sizes sends, receives;
    const Group group(c, n, elements);
    for (std::int64_t i = 0; i < n; ++i) {
      for (const Round& round : group.rounds[static_cast<std::size_t>(i)]) {
        ASSERT_FALSE(round.empty());
        for (const Transfer& t : round) {
          ASSERT_NE(t.peer, i);
          const bool send = t.direction == Direction::kSend;
          const auto pair = send ? std::pair(i, t.peer) : std::pair(t.peer, i);
          (send ? sends : receives)[pair].push_back(t.range.elements);
        }
      }
    }
    EXPECT_EQ(sends, receives);
  });
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  std::string out =
      std::string(name_of(info.param.kind)) + "_" + std::string(name_of(info.param.pattern));
  return out;
}
INSTANTIATE_TEST_SUITE_P(Collectives, EveryPattern, testing::ValuesIn(kCases), name_of_case);

TEST(Collectives, AllReduceHasTheSameBitsOnEveryMember) {
  for (Pattern pattern : {Pattern::kRing, Pattern::kRecursiveDoubling}) {
    for_each_size(CollectiveKind::kAllReduce, [&](std::int64_t n, std::int64_t elements) {
      const std::vector<Values> got =
          Group({pattern, CollectiveKind::kAllReduce}, n, elements).run(order_matters(n, elements));
      for (const Values& v : got) {
        ASSERT_EQ(v.size(), got[0].size());
        if (v.empty()) continue;  // memcmp wants a pointer
        ASSERT_EQ(std::memcmp(v.data(), got[0].data(), v.size() * sizeof(float)), 0);
      }
    });
  }
}

// Patarasuk and Yuan 2009: reduce_scatter and all_gather move (n - 1) / n S per member in n - 1
// rounds, all_reduce twice that.
TEST(Ring, MovesTwiceNMinusOneOverNPerMember) {
  for (std::int64_t n = 2; n <= 9; ++n) {
    const std::int64_t elements = 20 * n;
    for (auto [kind, halves] :
         {std::pair(CollectiveKind::kAllReduce, 2), std::pair(CollectiveKind::kAllGather, 1),
          std::pair(CollectiveKind::kReduceScatter, 1)}) {
      const Group group({Pattern::kRing, kind}, n, elements);
      for (std::size_t i = 0; i < group.rounds.size(); ++i) {
        EXPECT_EQ(group.rounds[i].size(), static_cast<std::size_t>(halves * (n - 1)));
        EXPECT_EQ(group.sent(i), halves * (n - 1) * elements / n);
        EXPECT_EQ(group.received(i), group.sent(i));
      }
    }
  }
}

TEST(Ring, MovesTheSameSumWhereSharesAreUneven) {
  for_each_size(CollectiveKind::kAllReduce, [](std::int64_t n, std::int64_t elements) {
    const Group group({Pattern::kRing, CollectiveKind::kAllReduce}, n, elements);
    EXPECT_EQ(group.sent_by_all(), 2 * (n - 1) * elements);
  });
}

// Thakur et al. 2005: log2 n rounds of S; other members than a power of two first hand their addend
// to a member and last get the sum from it.
TEST(RecursiveDoubling, MovesTheBufferOncePerDoubling) {
  constexpr std::int64_t kElements = 30;
  for (std::int64_t n = 2; n <= 9; ++n) {
    const Group group({Pattern::kRecursiveDoubling, CollectiveKind::kAllReduce}, n, kElements);
    const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
    const auto doublings =
        static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
    for (std::int64_t i = 0; i < n; ++i) {
      const bool guest = i >= power, host = i < n - power;
      const std::int64_t messages = guest ? 1 : doublings + (host ? 1 : 0);
      const std::int64_t rounds = guest ? 2 : doublings + (host ? 2 : 0);
      const auto at = static_cast<std::size_t>(i);
      EXPECT_EQ(group.rounds[at].size(), static_cast<std::size_t>(rounds)) << n << ", " << i;
      EXPECT_EQ(group.sent(at), messages * kElements) << n << ", " << i;
      EXPECT_EQ(group.received(at), messages * kElements) << n << ", " << i;
    }
  }
}

TEST(Direct, MovesAllButTheOwnShareInOneRound) {
  for (std::int64_t n = 2; n <= 9; ++n) {
    const Group group({Pattern::kDirect, CollectiveKind::kAllToAll}, n, 4 * n);
    for (std::size_t i = 0; i < group.rounds.size(); ++i) {
      EXPECT_EQ(group.rounds[i].size(), 1U);
      EXPECT_EQ(group.sent(i), (n - 1) * 4);
    }
  }
}

TEST(Direct, RefusesSharesOfUnequalSize) {
  EXPECT_ANY_THROW(rounds_of({Pattern::kDirect}, CollectiveKind::kAllToAll, 3, 0, 10));
}

// n - 1 messages, of which a member waits for at most ceil(log2 n), one behind the other.
TEST(Binomial, ReachesEveryoneAfterLogarithmicallyManyMessages) {
  for (std::int64_t n = 2; n <= 9; ++n) {
    const Group group({Pattern::kBinomial, CollectiveKind::kBroadcast}, n, 10);
    EXPECT_EQ(group.sent_by_all(), (n - 1) * 10);
    std::vector<std::size_t> depth(static_cast<std::size_t>(n), 0);  // arrives after so many
    std::size_t deepest = 0;
    for (std::size_t i = 0; i < depth.size(); ++i) {
      std::size_t begun = depth[i];
      for (const Round& round : group.rounds[i]) {
        if (round[0].direction == Direction::kReceive) continue;
        depth[static_cast<std::size_t>(round[0].peer)] = ++begun;  // peers stand behind us
        deepest = std::max(deepest, begun);
      }
    }
    EXPECT_EQ(deepest, static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(n - 1))));
  }
}

TEST(Share, SharesTileTheBuffer) {
  for_each_size(CollectiveKind::kAllGather, [](std::int64_t n, std::int64_t elements) {
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
  for (CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
        CollectiveKind::kAllToAll, CollectiveKind::kBroadcast}) {
    EXPECT_NO_THROW(rounds_of({pattern_of(kind, 4, Bytes(1 << 24))}, kind, 4, 1, 4096));
  }
}

TEST(RoundsOf, RefusesAPatternThatDoesNotKnowTheKind) {
  EXPECT_ANY_THROW(rounds_of({Pattern::kBinomial}, CollectiveKind::kAllReduce, 4, 1, 8));
}

}  // namespace
}  // namespace plait
