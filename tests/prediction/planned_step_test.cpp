#include "prediction/planned_step.h"

#include <gtest/gtest.h>

#include "prediction/verdict.h"

namespace plait::planned_step_test {

/// Of two stages and so many microbatches that few of them are planned.
Scenario with(const std::vector<Override>& sets) {
  std::vector<Override> all = {{"workload.global_batch", "4097"}};
  all.insert(all.end(), sets.begin(), sets.end());
  return parse_scenario(R"({
    "model": "gpt2", "workload": {"sequence_length": 64, "global_batch": 1, "micro_batch": 1},
    "cluster": {"preset": "dgx-a100", "devices_per_node": 2}, "strategy": {"pp": 2}})",
                        "x", all);
}

const std::vector<std::vector<Override>> kCases = {
    {},
    {{"workload.micro_batch", "2"}, {"workload.global_batch", "8194"}},
    {{"strategy.recompute", "full"}},
    {{"strategy.pipeline.schedule", "zb-h1"}},
    {{"workload.lora.rank", "8"}, {"workload.lora.targets", R"(["qkv"])"}},
    {{"workload.documents", R"({"packing": "packed", "lengths": [20, 30, 7]})"}},
    {{"workload.documents", R"({"packing": "padded", "lengths": [20, 50]})"},
     {"workload.global_batch", "4098"}},
};

TEST(PlannedStep, FewMicrobatchesTellWhatAStepOfManyCountsToTheLastBit) {
  for (const std::vector<Override>& sets : kCases) {
    const Scenario s = with(sets);
    const PlannedStep few = planned_step(s), whole = whole_step(s);
    EXPECT_TRUE(few.exact);
    EXPECT_GT(few.further, 3000);
    EXPECT_EQ(few.counts.microbatches, whole.plan.microbatches);
    EXPECT_EQ(few.counts.tokens, whole.plan.tokens_per_step);
    EXPECT_EQ(few.counts.model_flops, whole.plan.model_flops);
    EXPECT_EQ(few.counts.unneeded_flops, whole.plan.unneeded_flops);
    EXPECT_EQ(few.counts.runs, whole.counts.runs);
    EXPECT_EQ(op_count(few.plan, few.counts), op_count(whole.plan));
    EXPECT_EQ(op_count(few.plan, few.counts, 1), op_count(whole.plan, 1));
  }
}

TEST(PlannedStep, FewMicrobatchesTellTheMemoryOfMany) {
  for (const std::vector<Override>& sets : kCases) {
    const Scenario s = with(sets);
    const std::vector<StageUse> few = memory_of(planned_step(s), s);
    const std::vector<StageUse> whole = memory_of(whole_step(s).plan, s);
    ASSERT_EQ(few.size(), whole.size());
    for (std::size_t stage = 0; stage < few.size(); ++stage) {
      EXPECT_EQ(few[stage].bytes(), whole[stage].bytes());
    }
  }
}

/// Their slots are rounded up in each microbatch.
TEST(PlannedStep, FewMicrobatchesTellTheWorkOfExpertsWithACapacityToRounding) {
  const std::vector<Override> experts = {{"model", R"({"preset": "mixtral-8x7b", "layers": 2})"},
                                         {"workload.capacity_factor", "1.1"}};
  const PlannedStep few = planned_step(with(experts)), whole = whole_step(with(experts));
  EXPECT_FALSE(few.exact);
  EXPECT_GT(few.further, 3000);
  EXPECT_EQ(few.counts.tokens, whole.counts.tokens);
  EXPECT_NEAR(few.counts.model_flops / whole.counts.model_flops, 1, 1e-12);
}

/// What leaves the device adds up on the host; gpipe has no middle that repeats itself.
TEST(PlannedStep, IsWholeWhereFewMicrobatchesDoNotTellIt) {
  EXPECT_EQ(planned_step(with({{"strategy.offload", "cpu"}})).further, 0);
  EXPECT_EQ(planned_step(with({{"strategy.pipeline.schedule", "gpipe"}})).further, 0);
  EXPECT_EQ(planned_step(with({{"workload.global_batch", "64"}})).further, 0);
}

TEST(Verdict, OfAStepOfManyMicrobatchesIsMadeFromFew) {
  const Verdict v = verdict_on(with({{"workload.micro_batch", "1024"},
                                     {"workload.sequence_length", "1024"},
                                     {"workload.global_batch", "4194304"}}));
  EXPECT_FALSE(v.memory.fits);
  EXPECT_GT(v.step.further, 3000);
}

}  // namespace plait::planned_step_test
