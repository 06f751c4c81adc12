// Push and pull of parameter servers: who sends what, and what arrives.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "plan/collectives/traffic.h"

namespace plait::collectives_served_test {

using Values = std::vector<std::int64_t>;

struct Group {
  std::int64_t members = 1;
  Servers servers;
};
constexpr Group kGroups[] = {{2, {1, false}}, {4, {4, false}}, {5, {2, false}}, {8, {3, false}},
                             {2, {1, true}},  {6, {2, true}},  {9, {4, true}}};
constexpr std::int64_t kElements = 24 * 5;  // divided by 1, 2, 3 and 4

Arrangement arrangement_of(const Group& g) {
  return {.pattern = Pattern::kDirect, .servers = g.servers};
}

/// Executes the one round that there is.
std::vector<Values> run(const Group& g, CollectiveKind kind, std::vector<Values> buffers) {
  const std::vector<Values> before = buffers;
  std::vector<std::vector<Round>> rounds;
  for (std::int64_t i = 0; i < g.members; ++i) {
    rounds.push_back(rounds_of(arrangement_of(g), kind, g.members, i, kElements));
    EXPECT_LE(rounds.back().size(), 1U);
  }
  std::map<std::pair<std::int64_t, std::int64_t>, Range> sent;
  for (std::int64_t i = 0; i < g.members; ++i) {
    for (const Round& round : rounds[static_cast<std::size_t>(i)]) {
      for (const Transfer& t : round) {
        if (t.direction == Direction::kSend) sent[{i, t.peer}] = t.range;
      }
    }
  }
  for (std::int64_t i = 0; i < g.members; ++i) {
    for (const Round& round : rounds[static_cast<std::size_t>(i)]) {
      for (const Transfer& t : round) {
        if (t.direction == Direction::kSend) continue;
        const auto from = sent.find({t.peer, i});
        EXPECT_TRUE(from != sent.end());
        EXPECT_EQ(from->second.first, t.range.first);
        EXPECT_EQ(from->second.elements, t.range.elements);
        for (std::int64_t e = t.range.first; e < t.range.first + t.range.elements; ++e) {
          const auto at = static_cast<std::size_t>(e);
          const std::int64_t in = before[static_cast<std::size_t>(t.peer)][at];
          std::int64_t& to = buffers[static_cast<std::size_t>(i)][at];
          to = t.combine ? to + in : in;
        }
        sent.erase(from);
      }
    }
  }
  EXPECT_TRUE(sent.empty());
  return buffers;
}

TEST(Push, AServerHasTheSumOfWhatAllWorkersHadOfItsShare) {
  for (const Group& g : kGroups) {
    const std::int64_t workers = g.servers.workers(g.members);
    std::vector<Values> buffers;
    for (std::int64_t i = 0; i < g.members; ++i) {
      buffers.emplace_back(kElements, g.servers.works(g.members, i) ? 1 << i : 0);
    }
    const std::vector<Values> after = run(g, CollectiveKind::kPush, buffers);
    for (std::int64_t s = 0; s < g.servers.count; ++s) {
      const Range share = share_of(kElements, g.servers.count, s);
      const auto server = static_cast<std::size_t>(g.servers.member_of(g.members, s));
      for (std::int64_t e = share.first; e < share.first + share.elements; ++e) {
        EXPECT_EQ(after[server][static_cast<std::size_t>(e)], (1 << workers) - 1);
      }
    }
  }
}

TEST(Pull, EveryWorkerHasAllShares) {
  for (const Group& g : kGroups) {
    Values whole(kElements);
    std::iota(whole.begin(), whole.end(), 1);
    std::vector<Values> buffers(static_cast<std::size_t>(g.members), Values(kElements, 0));
    for (std::int64_t s = 0; s < g.servers.count; ++s) {
      const Range share = share_of(kElements, g.servers.count, s);
      Values& own = buffers[static_cast<std::size_t>(g.servers.member_of(g.members, s))];
      for (std::int64_t e = share.first; e < share.first + share.elements; ++e) {
        own[static_cast<std::size_t>(e)] = whole[static_cast<std::size_t>(e)];
      }
    }
    const std::vector<Values> after = run(g, CollectiveKind::kPull, buffers);
    for (std::int64_t i = 0; i < g.servers.workers(g.members); ++i) {
      EXPECT_EQ(after[static_cast<std::size_t>(i)], whole) << i << " of " << g.members;
    }
  }
}

// w workers send M / k to each of k servers: w M / k comes in at a server (without what a server
// that works has itself), and M goes out of a worker.
TEST(Push, IncastAtAServerIsWorkersOverServersTimesTheParameters) {
  for (const Group& g : kGroups) {
    const std::int64_t workers = g.servers.workers(g.members), k = g.servers.count;
    std::map<std::int64_t, std::int64_t> in, out;
    for (const Traffic& t :
         traffic_of(arrangement_of(g), CollectiveKind::kPush, g.members, Bytes(kElements))) {
      in[t.to] += t.bytes.value, out[t.from] += t.bytes.value;
    }
    EXPECT_EQ(in.size(), static_cast<std::size_t>(k));
    const std::int64_t others = workers - (g.servers.dedicated ? 0 : 1);
    for (const auto& [server, bytes] : in) EXPECT_EQ(bytes, others * kElements / k);
    for (const auto& [worker, bytes] : out) {
      const bool serves = g.servers.share_of(g.members, worker) >= 0;
      EXPECT_EQ(bytes, kElements - (serves ? kElements / k : 0));
    }
  }
}

TEST(Servers, AreSpreadEvenlyOverTheWorkersOrStandBehindThem) {
  const Servers spread{3, false}, apart{3, true};
  EXPECT_EQ(spread.member_of(8, 1), 2);  // 8 / 3
  EXPECT_EQ(spread.member_of(8, 2), 5);
  EXPECT_EQ(spread.share_of(8, 5), 2);
  EXPECT_EQ(spread.share_of(8, 4), -1);
  EXPECT_EQ(apart.workers(8), 5);
  EXPECT_EQ(apart.member_of(8, 0), 5);
  EXPECT_FALSE(apart.works(8, 5));
  EXPECT_TRUE(spread.works(8, 5));
}

}  // namespace plait::collectives_served_test
