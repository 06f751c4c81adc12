#include <gtest/gtest.h>

#include "tests/plan/tiny.h"

namespace plait::planner_test {

TEST(PlanSize, DoesNotDependOnTheDataParallelDegree) {
  for (int zero_stage : {0, 1, 2, 3}) {
    const Plan few = make_plan(tiny_llama(), tiny_workload(2 * 2), split({.dp = 2}, zero_stage));
    const Plan many =
        make_plan(tiny_llama(), tiny_workload(2 * 4096), split({.dp = 4096}, zero_stage));
    EXPECT_EQ(op_count(few, 0), op_count(many, 0));
    EXPECT_EQ(few.blocks.size(), many.blocks.size());
    EXPECT_EQ(few.tensors.size(), many.tensors.size());
  }
}

TEST(PlanSize, BlocksAndTensorsDoNotGrowWithLayersAndMicrobatches) {
  const Plan small = make_plan(tiny_llama(4), tiny_workload(4), split({.pp = 2, .tp = 2}));
  const Plan large = make_plan(tiny_llama(64), tiny_workload(64), split({.pp = 2, .tp = 2}));
  EXPECT_EQ(small.blocks.size(), large.blocks.size());
  EXPECT_EQ(small.tensors.size(), large.tensors.size());
}

TEST(OpCount, OfAllRanksIsThatOfEachStageTimesItsRanks) {
  const Plan plan = make_plan(tiny_llama(), tiny_workload(6), split({.pp = 2, .dp = 3, .tp = 2}));
  EXPECT_EQ(plan.places_per_stage(), 3 * 2);
  EXPECT_EQ(op_count(plan), 3 * 2 * (op_count(plan, 0) + op_count(plan, 1)));
}

TEST(Plan, BatchIsSharedByReplicasAndCutIntoMicrobatches) {
  const Plan plan = make_plan(tiny_llama(), tiny_workload(24, 2), split({.dp = 2, .fsdp = 3}, 3));
  EXPECT_EQ(plan.microbatches, 24 / (2 * 3) / 2);
  EXPECT_EQ(plan.tokens_per_step, 24 * 8);
}

}  // namespace plait::planner_test
