// NCCL communicators of a plan: every collective finds its group, every message its pair, and no
// rank is asked to be in two groups of one split.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plan/places.h"
#include "realrun/exchange.h"
#include "realrun/matrix/matrix.h"
#include "realrun/transport/nccl/groups.h"

namespace plait::nccl::splits_test {

using Known = std::set<std::pair<int, std::vector<std::int64_t>>>;

/// What a rank looks for when it runs its program.
std::vector<std::pair<int, std::vector<std::int64_t>>> looked_for(const Plan& plan,
                                                                  std::int64_t id) {
  const Rank rank(plan, id);
  ExchangeReader reader(plan, rank);
  std::vector<std::pair<int, std::vector<std::int64_t>>> out;
  for (const Call& call : plan.programs[rank.stage].calls) {
    for (const Op& op : plan.blocks[call.block].ops) {
      if (op.stream == Stream::kCompute) continue;
      const std::optional<Exchange> exchange = reader.read(op);
      if (!exchange) continue;
      if (const auto* m = std::get_if<PointToPoint>(&*exchange)) {
        const bool sends = m->flow == Flow::kOut;
        for (const auto& [peer, part] : m->messages) {
          out.push_back({m->channel, {sends ? id : peer, sends ? peer : id}});
        }
      } else {
        const auto& c = std::get<CollectiveOf<Part>>(*exchange);
        if (c.group.size() > 1) out.push_back({c.channel, c.group});
      }
    }
  }
  return out;
}

TEST(NcclGroups, EveryExchangeFindsItsGroup) {
  for (const MatrixCase& c : gpu_matrix_cases()) {
    SCOPED_TRACE(c.name);
    const Plan plan = make_plan(c.model, c.workload, c.strategy);
    Known known;
    for (const Split& s : splits_of(plan)) {
      for (const auto& group : s.groups) known.insert({s.stream, group});
    }
    for (std::int64_t r = 0; r < rank_count(plan); ++r) {
      for (const auto& wanted : looked_for(plan, r)) EXPECT_TRUE(known.contains(wanted));
    }
  }
}

TEST(NcclGroups, GroupsOfASplitShareNoRank) {
  for (const MatrixCase& c : gpu_matrix_cases()) {
    SCOPED_TRACE(c.name);
    for (const Split& s : splits_of(make_plan(c.model, c.workload, c.strategy))) {
      std::vector<std::int64_t> all;
      for (const auto& group : s.groups) all.insert(all.end(), group.begin(), group.end());
      std::ranges::sort(all);
      EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
    }
  }
}

/// Neighbours along a pipeline of an even number of stages form two rounds of pairs in each
/// direction, of an odd number three, however many ranks there are.
TEST(NcclGroups, PipelinesNeedFewSplits) {
  for (const std::int64_t pp : {2, 3, 4}) {
    Model m;
    m.layers = 12, m.hidden = 32, m.heads = 4, m.kv_heads = 4, m.head_dim = 8;
    m.ffn_hidden = 64, m.vocab = 32, m.max_positions = 8;
    Workload w;
    w.sequence_length = 8, w.global_batch = 32;
    Strategy s;
    s.mesh[Axis::kPp] = pp, s.mesh[Axis::kDp] = 8;
    std::int64_t splits = 0;
    for (const Split& split : splits_of(make_plan(m, w, s))) {
      const auto stream = static_cast<Stream>(split.stream);
      splits += stream == Stream::kSendForward || stream == Stream::kSendBackward ? 1 : 0;
    }
    EXPECT_EQ(splits, 2 * (pp % 2 == 0 ? 2 : 3)) << pp;
  }
}

}  // namespace plait::nccl::splits_test
