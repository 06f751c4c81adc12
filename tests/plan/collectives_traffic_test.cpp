#include <gtest/gtest.h>

#include <map>

#include "plan/collectives/traffic.h"

namespace plait {
namespace {

using Pairs = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;

Pairs summed(const Arrangement& a, CollectiveKind kind, std::int64_t n, std::int64_t bytes) {
  Pairs out;
  for (std::int64_t i = 0; i < n; ++i) {
    for (const Round& round : rounds_of(a, kind, n, i, bytes)) {
      for (const Transfer& t : round) {
        if (t.direction == Direction::kSend) out[{i, t.peer}] += t.range.elements;
      }
    }
  }
  return out;
}

TEST(Traffic, IsTheSumOfTheRounds) {
  const std::pair<Pattern, CollectiveKind> cases[] = {
      {Pattern::kRing, CollectiveKind::kAllReduce},
      {Pattern::kRing, CollectiveKind::kAllGather},
      {Pattern::kRing, CollectiveKind::kReduceScatter},
      {Pattern::kRecursiveDoubling, CollectiveKind::kAllReduce},
      {Pattern::kDirect, CollectiveKind::kAllToAll},
      {Pattern::kBinomial, CollectiveKind::kBroadcast}};
  for (const auto& [pattern, kind] : cases) {
    for (std::int64_t n = 1; n <= 9; ++n) {
      for (std::int64_t bytes : {0, 1, 6, 1000}) {
        if (kind == CollectiveKind::kAllToAll) bytes -= bytes % n;
        SCOPED_TRACE(std::string(name_of(pattern)) + " " + std::to_string(n));
        Pairs got;
        for (const Traffic& t : traffic_of({pattern}, kind, n, Bytes(bytes))) {
          EXPECT_TRUE(got.emplace(std::pair(t.from, t.to), t.bytes.value).second);
        }
        EXPECT_EQ(got, summed({pattern}, kind, n, bytes));
      }
    }
  }
}

}  // namespace
}  // namespace plait
