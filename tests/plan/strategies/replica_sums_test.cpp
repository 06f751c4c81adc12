// When gradients that are sharded within a group are summed over the groups (ReplicaSums).
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::replica_sums_test {

constexpr std::int64_t kMicrobatches = 4;

Plan plan_of(ReplicaSums when, int zero_stage, NoSync no_sync = NoSync::kNever) {
  Strategy s = split({.dp = 2, .fsdp = 2}, zero_stage);
  s.fsdp.replica_sums = when, s.fsdp.no_sync = no_sync;
  return make_plan(tiny_llama(4), tiny_workload(4 * kMicrobatches), s);
}

/// Elements that are all-reduced over the replicas in a step.
std::int64_t summed(const Plan& plan) {
  EXPECT_TRUE(validate(plan).empty());
  std::int64_t out = 0;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Collective* c = std::get_if<Collective>(&op.body);
    const bool all_reduce = c != nullptr && c->kind == CollectiveKind::kAllReduce;
    if (all_reduce && c->axes == Axis::kDp && op.phase == Phase::kGradSync) out += c->elements;
  });
  return out;
}

TEST(ReplicaSums, AreOfEachMicrobatchOrOfTheStep) {
  for (const int stage : {2, 3}) {
    const std::int64_t once = summed(plan_of(ReplicaSums::kLastMicrobatch, stage));
    EXPECT_GT(once, 0);
    EXPECT_EQ(summed(plan_of(ReplicaSums::kEachMicrobatch, stage)), kMicrobatches * once);
    EXPECT_EQ(summed(plan_of(ReplicaSums::kEachMicrobatch, stage, NoSync::kAlways)), once);
  }
}

}  // namespace plait::replica_sums_test
