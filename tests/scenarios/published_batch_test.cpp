// How the batch of a record follows from what is published of it, and memory under other names.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "scenarios/published/scenario_of.h"
#include "scenarios/published/strategy_of.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_batch_test {

using nlohmann::json;

json batch_of(const json& record) {
  return json::parse(scenario_of(run_of(record)).json)["workload"]["global_batch"];
}

TEST(PublishedBatch, IsThatOfMicroBatchesAndStepsOfAccumulation) {
  json record = published_sample();  // two replicas
  record["batch"] = {{"micro_batch", 4}, {"grad_accum", 8}};
  EXPECT_EQ(batch_of(record), 64);
  record["batch"].erase("grad_accum");
  EXPECT_EQ(batch_of(record), 8);
  EXPECT_TRUE(assumes(record, "global batch: one micro-batch for each replica"));
}

TEST(PublishedBatch, SaysThatItTakesNoStepsOfAccumulationThatContradictIt) {
  json record = published_sample();  // 64 sequences in micro-batches of 2 on two replicas
  const std::string said =
      "steps of accumulation: 16, as 64 sequences in micro-batches of 2 on 2 replicas have, not 8 "
      "as the record says";
  EXPECT_FALSE(assumes(record, said));
  record["batch"]["grad_accum"] = 16;
  EXPECT_FALSE(assumes(record, said));
  record["batch"]["grad_accum"] = 8;
  EXPECT_EQ(batch_of(record), 64);
  EXPECT_TRUE(assumes(record, said));
  record["batch"] = {{"global_batch", 12}, {"grad_accum", 4}};  // no whole micro-batch
  EXPECT_TRUE(assumes(record,
                      "steps of accumulation: 6, as 12 sequences in micro-batches of 1 on 2 "
                      "replicas have, not 4 as the record says"));
}

TEST(PublishedBatch, GivesRatesTheirStepWhereItFollows) {
  json record = published_sample();  // 1000 tokens/s of each of 16 GPUs, 1,024 tokens a sequence
  record["batch"] = {{"micro_batch", 4}, {"grad_accum", 8}};
  ASSERT_TRUE(run_of(record).measured.step_s);
  EXPECT_DOUBLE_EQ(*run_of(record).measured.step_s, 64 * 1024 / 16e3);
}

TEST(PublishedBatch, OfRoundTokensIsTheNearestThatIsWholeWhereARateIsPublished) {
  json record = published_sample();
  record["batch"] = {{"global_batch", 1538}, {"micro_batch", 4}};
  EXPECT_EQ(batch_of(record), 1536);
  EXPECT_TRUE(
      assumes(record, "global batch: 1536, the nearest to 1538 that makes whole micro-batches"));
  EXPECT_DOUBLE_EQ(*run_of(record).measured.step_s, 1536 * 1024 / 16e3) << "the rate is the same";
  record["measured"] = {{"iteration_time_s", 2.5}};
  EXPECT_EQ(batch_of(record), 1538) << "that time is of this batch";
  record = published_sample();
  record["batch"] = {{"global_batch", 12}, {"micro_batch", 4}};
  EXPECT_EQ(batch_of(record), 12) << "a third of it is too much";
}

TEST(PublishedBatch, OfALayoutThatIsEmptyIsNotRepresented) {
  json record = published_sample();
  record["parallel"] = json::object();
  EXPECT_THROW(scenario_of(run_of(record)), NotRepresentable);
}

TEST(PublishedMemory, IsReadUnderNamesThatSayItsUnitAndWhatItCounts) {
  json record = published_sample();
  const auto reads = [&record](const char* name) {
    record["measured"] = {{name, 2}};
    const Measured m = run_of(record).measured;
    return std::pair(m.memory_bytes.value_or(0), m.memory_statistic);
  };
  const double mib = std::exp2(20), gib = std::exp2(30);
  using enum MemoryStatistic;
  EXPECT_EQ(reads("peak_memory_mb"), std::pair(2 * mib, kReserved));
  EXPECT_EQ(reads("peak_memory_mib"), std::pair(2 * mib, kDevice));
  EXPECT_EQ(reads("peak_memory_gb_reserved"), std::pair(2 * gib, kReserved));
  EXPECT_EQ(reads("peak_memory_allocated_gb"), std::pair(2 * gib, kAllocated));
  EXPECT_EQ(reads("max_memory_allocated_gib"), std::pair(2 * gib, kAllocated));
  EXPECT_EQ(reads("peak_memory_gb_nvidia_smi"), std::pair(2 * gib, kDevice));
  EXPECT_EQ(reads("peak_memory_gb_per_pp_stage").first, 0);
  record["measured"] = {{"peak_memory_gb", 3}, {"mem_max_allocated_bytes", 5}};
  EXPECT_EQ(run_of(record).measured.memory_bytes, 5) << "the exact one";
}

TEST(PublishedLayouts, YesNoAndStagesMayBeWords) {
  json record = published_sample();
  record["parallel"]["sp"] = "true";
  record["parallel"]["zero_stage"] = "ZeRO-1";
  record["measured"] = {{"oom", 1}};
  const PublishedRun run = run_of(record);
  EXPECT_EQ(run.layout.sequence_parallel, true);
  EXPECT_EQ(run.layout.zero_stage, 1);
  EXPECT_TRUE(run.measured.out_of_memory);
  record["parallel"]["zero_stage"] = "1 (distributed optimizer)";
  EXPECT_EQ(run_of(record).layout.zero_stage, 1);
  record["parallel"]["zero_stage"] = "distributed optimizer";
  EXPECT_EQ(std::ranges::count(run_of(record).unread,
                               "parallel.zero_stage (\"distributed optimizer\" is no number)"),
            1);
  record["parallel"]["sp"] = "perhaps";
  EXPECT_EQ(std::ranges::count(run_of(record).unread, "parallel.sp (\"perhaps\" is no yes or no)"),
            1);
}

TEST(PublishedLayouts, StageTwoInAPipelineIsStageOne) {
  json record = published_sample();
  record["parallel"]["zero_stage"] = 2;
  EXPECT_EQ(json::parse(scenario_of(run_of(record)).json)["strategy"]["zero_stage"], 1);
  EXPECT_TRUE(assumes(record, "ZeRO stage 2 in a pipeline: 1"));
}

TEST(PublishedLayouts, OffloadMayBeAPlaceAlone) {
  PublishedLayout layout;
  layout.offload = "cpu";
  EXPECT_EQ(json(offload_of(layout)), json::parse(R"({"optimizer": "cpu"})"));
  layout.zero_stage = 3;
  EXPECT_EQ(json(offload_of(layout)), json::parse(R"({"optimizer": "cpu", "parameters": "cpu"})"));
}

}  // namespace plait::published_batch_test
