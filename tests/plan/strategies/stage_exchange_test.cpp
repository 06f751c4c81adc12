// What ranks of tensor parallelism send to the next stage: all that each has, or a part each.
#include "tests/plan/tiny.h"

namespace plait::stage_exchange_test {

constexpr std::int64_t kStream = 8 * 16 * 2;  // s b h of two bytes
constexpr std::int64_t kMicrobatches = 4;

Plan plan_of(Strategy s, std::int64_t tokens = 8) {
  Workload w = tiny_workload(kMicrobatches);
  w.sequence_length = tokens;
  Model m = tiny_llama();
  m.kv_heads = m.heads;
  return make_plan(m, w, s);
}

/// Messages that the first stage sends, and what the second one gathers before its passes.
struct Crossing {
  Volume sent, gathered;
  bool operator==(const Crossing&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Crossing& c) {
    return out << "sent " << c.sent << ", gathered " << c.gathered;
  }
};
Crossing crossing(const Plan& plan) {
  Crossing out;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Send* s = std::get_if<Send>(&op.body);
    if (s != nullptr) ++out.sent.count, out.sent.bytes += s->bytes.value;
  });
  for_each_op(plan, 1, [&](const Call&, const Op& op) {
    add_if(out.gathered, op, CollectiveKind::kAllGather, Axis::kTp);
  });
  return out;
}

Crossing crossing_of(bool in_parts, std::int64_t tokens = 8) {
  Strategy s = split({.pp = 2, .tp = 4});
  s.pipeline.scatter_gather = in_parts;
  return crossing(plan_of(s, tokens));
}

TEST(StageExchange, EachRankSendsAllOrAPartThatIsGathered) {
  // Narayanan et al. 2021, section 4.1.
  const std::int64_t all = kMicrobatches * kStream;
  EXPECT_EQ(crossing_of(false), (Crossing{{kMicrobatches, all}, {}}));
  EXPECT_EQ(crossing_of(true), (Crossing{{kMicrobatches, all / 4}, {kMicrobatches, all}}));
}

TEST(StageExchange, IsWholeWhereRanksDoNotDivideTheSequence) {
  EXPECT_EQ(crossing_of(true, 10), crossing_of(false, 10));
}

TEST(StageExchange, IsShardedAlreadyWithSequenceParallelism) {
  Strategy s = split({.pp = 2, .tp = 4});
  s.sequence_parallel = true;
  const Crossing plain = crossing(plan_of(s));
  s.pipeline.scatter_gather = true;
  EXPECT_EQ(crossing(plan_of(s)), plain);
}

TEST(StageExchange, IsWholeBetweenStagesOfDifferentDegrees) {
  Strategy s = split({.pp = 2, .tp = 4});
  s.pipeline.stage_tp = {4, 2};
  const Crossing plain = crossing(plan_of(s));
  s.pipeline.scatter_gather = true;
  EXPECT_EQ(crossing(plan_of(s)), plain);
}

TEST(StageExchange, PartsAreOfTheSequenceThatContextParallelismLeaves) {
  Strategy s = split({.pp = 2, .tp = 2, .cp = 2});
  s.pipeline.scatter_gather = true;
  EXPECT_EQ(crossing(plan_of(s)).sent, (Volume{kMicrobatches, kMicrobatches * kStream / 4}));
}

}  // namespace plait::stage_exchange_test
