#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "plan/collectives/traffic.h"
#include "tests/plan/collectives_group.h"

namespace plait::collectives_traffic_test {

using enum CollectiveKind;
using enum Pattern;
using Pairs = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;

Pairs summed(const ArrangementCase& c, std::int64_t n, std::int64_t bytes) {
  Pairs out;
  for (std::int64_t i = 0; i < n; ++i) {
    for (const Round& round : rounds_of(c.arrangement, c.kind, n, i, bytes)) {
      for (const Transfer& t : round) {
        if (t.direction == Direction::kSend) {
          out[{i, t.peer}] += t.range.elements;
        } else if (t.peer == kSwitch) {
          out[{kSwitch, i}] += t.range.elements;
        }
      }
    }
  }
  return out;
}

TEST(Traffic, IsTheSumOfTheRounds) {
  for (const ArrangementCase& c : cases()) {
    for (std::int64_t n : {1, 2, 3, 6, 8, 12}) {
      if (n % c.arrangement.members_per_node != 0) continue;
      for (std::int64_t bytes : {0, 1, 6, 1000}) {
        if (c.kind == kAllToAll) bytes -= bytes % n;
        SCOPED_TRACE(label(c) + ", " + std::to_string(n) + " members, " + std::to_string(bytes));
        Pairs got;
        const std::vector<Traffic> traffic = traffic_of(c.arrangement, c.kind, n, Bytes(bytes));
        for (const Traffic& t : traffic) {
          EXPECT_TRUE(got.emplace(std::pair(t.from, t.to), t.bytes.value).second);
        }
        EXPECT_EQ(got, summed(c, n, bytes));
        EXPECT_TRUE(std::ranges::is_sorted(
            traffic, {}, [](const Traffic& t) { return std::pair(t.from, t.to); }));
      }
    }
  }
}

// With as many channels as places, all of them carry the same between the nodes, and none of it
// changes places: the rails of a rail-optimised network.
TEST(Traffic, RingsOfAllChannelsStayOnTheirRails) {
  constexpr std::int64_t kNodes = 4, kPlaces = 8, kBytes = 1 << 20;
  const Arrangement rings{.members_per_node = kPlaces, .channels = kPlaces};
  std::map<std::int64_t, std::int64_t> on_rail;
  for (const Traffic& t : traffic_of(rings, kAllReduce, kNodes * kPlaces, Bytes(kBytes))) {
    if (t.from / kPlaces == t.to / kPlaces) continue;
    EXPECT_EQ(t.from % kPlaces, t.to % kPlaces);
    on_rail[t.from % kPlaces] += t.bytes.value;
  }
  ASSERT_EQ(on_rail.size(), std::size_t{kPlaces});
  for (const auto& [rail, bytes] : on_rail) EXPECT_EQ(bytes, on_rail[0]) << rail;
}

// Sanders, Speck and Traeff 2009: nobody passes data on in both trees, but for one of an odd group.
TEST(Tree, OneTreesInnerMembersAreTheOthersLeaves) {
  for (std::int64_t n = 2; n <= 33; ++n) {
    std::int64_t in_both = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      bool inner[2] = {false, false};
      for (const Round& round : rounds_of({.pattern = kTree, .chunks = 1}, kAllReduce, n, i, 2)) {
        for (const Transfer& t : round) {  // element e travels through tree e
          if (t.combine) inner[t.range.first] = true;
        }
      }
      if (inner[0] && inner[1]) ++in_both;
    }
    EXPECT_EQ(in_both, n % 2) << n;
  }
}

// ---- The closed forms of docs/models/algorithms.md. S is a multiple of all that divides it.

constexpr std::int64_t kUnit = 16 * 3 * 4;

std::int64_t log2_up(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
}

void expect_effort(const Arrangement& a, CollectiveKind kind, std::int64_t n, std::int64_t bytes,
                   const Effort& want) {
  const Effort got = effort_of(a, kind, n, Bytes(bytes));
  SCOPED_TRACE(label({kind, a}) + ", " + std::to_string(n) + " members");
  EXPECT_EQ(got.rounds, want.rounds);
  EXPECT_EQ(got.sent.value, want.sent.value);
  EXPECT_EQ(got.received.value, want.received.value);
  EXPECT_EQ(got.combined.value, want.combined.value);
}

/// Calls f(n, q, S) with S = n q.
template <class F>
void for_members(F&& f) {
  for (std::int64_t n = 2; n <= 17; ++n) f(n, kUnit, n * kUnit);
}

// Patarasuk and Yuan 2009: reduce_scatter and all_gather move (n - 1) / n S per member in n - 1
// rounds, all_reduce twice that, however many channels share the data.
TEST(Ring, MovesTwiceNMinusOneOverNPerMember) {
  for_members([](std::int64_t n, std::int64_t q, std::int64_t s) {
    const Bytes part((n - 1) * q), all(s);
    for (int c : {1, 2, 4}) {
      expect_effort({.channels = c}, kAllGather, n, s, {n - 1, part, part, Bytes(0)});
      expect_effort({.channels = c}, kReduceScatter, n, s, {n - 1, part, part, part});
    }
    const Effort got = effort_of({}, kAllReduce, n, all);
    expect_effort({}, kAllReduce, n, s, {2 * (n - 1), part * 2, part * 2, part});
    EXPECT_EQ(got.sent.value * n, 2 * (n - 1) * s);
    expect_effort({.chunks = 5}, kBroadcast, n, s, {n - 1 + 5 - 1, all, all, Bytes(0)});
  });
}

// Of two binary trees of height H, each with half of the data in K chunks.
TEST(Tree, MovesTwoBuffersThroughItsHeightTwice) {
  for_members([](std::int64_t n, std::int64_t, std::int64_t s) {
    constexpr std::int64_t kChunks = 3;
    const Arrangement tree{.pattern = kTree, .chunks = kChunks};
    const std::int64_t height = log2_up(n);
    if (n >= 4) {  // somebody has two children and a parent
      expect_effort(tree, kAllReduce, n, s,
                    {2 * height + kChunks - 1, Bytes(2 * s), Bytes(2 * s), Bytes(s)});
      expect_effort(tree, kBroadcast, n, s,
                    {height + kChunks - 1, Bytes(2 * s), Bytes(s), Bytes(0)});
    }
    EXPECT_EQ(Group({kAllReduce, tree}, n, s).sent_by_all(), 2 * (n - 1) * s);
    EXPECT_EQ(Group({kBroadcast, tree}, n, s).sent_by_all(), (n - 1) * s);
  });
}

// Inside of a node the chain makes the tree longer, and between nodes each channel enters at a
// place of its own.
TEST(Tree, HangsChainsUnderItsNodes) {
  constexpr std::int64_t kNodes = 4, kPlaces = 8, kChunks = 2;
  const Arrangement tree{
      .pattern = kTree, .members_per_node = kPlaces, .channels = kPlaces, .chunks = kChunks};
  const std::int64_t s = 2 * kPlaces * kChunks * kUnit;
  EXPECT_EQ(effort_of(tree, kAllReduce, kNodes * kPlaces, Bytes(s)).rounds,
            2 * (log2_up(kNodes) + kPlaces - 1) + kChunks - 1);
  std::map<std::int64_t, std::int64_t> on_rail;
  for (const Traffic& t : traffic_of(tree, kAllReduce, kNodes * kPlaces, Bytes(s))) {
    if (t.from / kPlaces == t.to / kPlaces) continue;
    EXPECT_EQ(t.from % kPlaces, t.to % kPlaces);
    on_rail[t.from % kPlaces] += t.bytes.value;
  }
  for (std::int64_t rail = 0; rail < kPlaces; ++rail) {
    EXPECT_EQ(on_rail[rail], 2 * (kNodes - 1) * s / kPlaces);
  }
}

// Thakur et al. 2005: log2 n rounds; other members than a power of two first hand their addend to a
// host and last get the sum from it.
TEST(RecursiveDoubling, MovesTheBufferOncePerDoubling) {
  for_members([](std::int64_t n, std::int64_t, std::int64_t s) {
    const std::int64_t doublings = log2_up(n + 1) - 1;
    const std::int64_t guests = std::has_single_bit(static_cast<std::uint64_t>(n)) ? 0 : 1;
    const Bytes all((doublings + guests) * s);
    expect_effort({kRecursiveDoubling}, kAllReduce, n, s, {doublings + 2 * guests, all, all, all});
  });
}

// Rabenseifner 2004: the bytes of a ring in log2 n rounds each way; a host has S more.
TEST(HalvingDoubling, MovesWhatARingMovesInLogarithmicallyManyRounds) {
  for_members([](std::int64_t n, std::int64_t q, std::int64_t) {
    const auto p = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
    const std::int64_t doublings = log2_up(p), guests = p < n ? 1 : 0;
    const std::int64_t s = n * p * q, half = s - s / p;
    const Bytes moved(2 * half + guests * s);
    expect_effort({kHalvingDoubling}, kAllReduce, n, s,
                  {2 * doublings + 2 * guests, moved, moved, Bytes(half + guests * s)});
    const Bytes part(s - s / n);
    if (guests == 0) {
      expect_effort({kHalvingDoubling}, kAllGather, n, s, {doublings, part, part, Bytes(0)});
      expect_effort({kHalvingDoubling}, kReduceScatter, n, s, {doublings, part, part, part});
      return;
    }
    // Host 0 passes on its guest's share, too: before round t it has min(2^t, n - p) of guests.
    std::int64_t shares = n - 1;
    for (std::int64_t held = 1; held < p; held *= 2) shares += held + std::min(held, n - p);
    const Bytes host(shares * s / n);
    expect_effort({kHalvingDoubling}, kAllGather, n, s, {doublings + 2, host, part, Bytes(0)});
    expect_effort({kHalvingDoubling}, kReduceScatter, n, s, {doublings + 2, part, host, host});
  });
}

TEST(Direct, MovesEachShareOnceInOneRound) {
  for_members([](std::int64_t n, std::int64_t q, std::int64_t s) {
    const Bytes part((n - 1) * q), all((n - 1) * s);
    expect_effort({kDirect}, kAllGather, n, s, {1, part, part, Bytes(0)});
    expect_effort({kDirect}, kReduceScatter, n, s, {1, part, part, part});
    expect_effort({kDirect}, kAllReduce, n, s, {2, part * 2, part * 2, part});
    expect_effort({kDirect}, kAllToAll, n, s, {1, part, part, Bytes(0)});
    expect_effort({kPairwise}, kAllToAll, n, s, {n - 1, part, part, Bytes(0)});
    expect_effort({kOneShot}, kAllReduce, n, s, {1, all, all, all});
  });
}

TEST(Pairwise, HasOneMessageEachWayPerRound) {
  for (const Round& round : rounds_of({kPairwise}, kAllToAll, 5, 2, 10))
    EXPECT_EQ(round.size(), 2U);
}

TEST(Binomial, ReachesEveryoneInLogarithmicallyManyRounds) {
  for_members([](std::int64_t n, std::int64_t, std::int64_t s) {
    const Bytes root(log2_up(n) * s);
    expect_effort({kBinomial}, kBroadcast, n, s, {log2_up(n), root, Bytes(s), Bytes(0)});
    EXPECT_EQ(Group({kBroadcast, {kBinomial}}, n, s).sent_by_all(), (n - 1) * s);
  });
}

// Jeaugey 2025: each share once, log2 n rounds, or with at most B = 2^b shares in a round b rounds
// and then one for each offset in the trees that are left.
TEST(Pat, MovesEachShareOnceAndNoMoreAtATimeThanAllowed) {
  for_members([](std::int64_t n, std::int64_t q, std::int64_t s) {
    const Bytes part((n - 1) * q);
    for (std::int64_t b = 0; b <= 5; ++b) {
      const std::int64_t height = log2_up(n), far = std::min(b, height);
      const std::int64_t rounds = far + std::min(std::int64_t{1} << (height - far), n) - 1;
      const Arrangement pat{.pattern = kPat, .most_shares = std::int64_t{1} << b};
      expect_effort(pat, kAllGather, n, s, {rounds, part, part, Bytes(0)});
      expect_effort(pat, kReduceScatter, n, s, {rounds, part, part, part});
      for (const Round& round : rounds_of(pat, kAllGather, n, 0, s)) {
        EXPECT_LE(round.size(), 2 * (std::size_t{1} << b));  // each way
      }
    }
    expect_effort({kPat}, kAllGather, n, s, {log2_up(n), part, part, Bytes(0)});
  });
}

// The member's link carries everything once each way, and its own share once more.
TEST(Nvls, MovesTheBufferOnceEachWay) {
  for_members([](std::int64_t n, std::int64_t q, std::int64_t s) {
    expect_effort({kNvls}, kAllGather, n, s, {1, Bytes(q), Bytes(s), Bytes(0)});
    expect_effort({kNvls}, kReduceScatter, n, s, {1, Bytes(s), Bytes(q), Bytes(0)});
    expect_effort({kNvls}, kAllReduce, n, s, {2, Bytes(s + q), Bytes(s + q), Bytes(0)});
  });
}

TEST(Hierarchical, MovesAShareOfTheDataBetweenNodes) {
  for (std::int64_t nodes : {2, 3, 8}) {
    for (std::int64_t g : {2, 4}) {
      const Arrangement a{.pattern = kHierarchical, .members_per_node = g};
      const std::int64_t n = nodes * g, q = kUnit, s = n * q;
      const Bytes within((g - 1) * nodes * q), between((nodes - 1) * q);
      const Bytes part = within + between;
      expect_effort(a, kAllReduce, n, s, {2 * (nodes - 1) + 2, part * 2, part * 2, part});
      expect_effort(a, kAllGather, n, s, {nodes, part, part, Bytes(0)});
      expect_effort(a, kReduceScatter, n, s, {nodes, part, part, part});
      const Bytes exchanged = within + Bytes((nodes - 1) * g * q);
      expect_effort(a, kAllToAll, n, s, {2, exchanged, exchanged, Bytes(0)});
    }
  }
}

// Only members of the same place talk across nodes.
TEST(Hierarchical, KeepsToTheRails) {
  for (CollectiveKind kind : {kAllReduce, kAllGather, kReduceScatter, kAllToAll}) {
    const Arrangement a{.pattern = kHierarchical, .members_per_node = 4};
    for (const Traffic& t : traffic_of(a, kind, 12, Bytes(1200))) {
      EXPECT_TRUE(t.from / 4 == t.to / 4 || t.from % 4 == t.to % 4);
    }
  }
}

}  // namespace plait::collectives_traffic_test
