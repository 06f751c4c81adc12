#include "reports/report.h"

#include <gtest/gtest.h>

#include "tests/reports/made_up.h"
#include "topologies/catalogue.h"

namespace plait::report_test {

TEST(Report, ThroughputIsTokensOverStepTime) {
  const Report r = MadeUp().report();
  EXPECT_DOUBLE_EQ(r.step_time_s, 3e-6);
  EXPECT_EQ(r.world_size, 4);
  EXPECT_DOUBLE_EQ(r.tokens_per_s, 60 / 3e-6);
  EXPECT_DOUBLE_EQ(r.tokens_per_s_per_gpu, 60 / 3e-6 / 4);
}

TEST(Report, HfuAddsRecomputedFlopsToThoseOfMfu) {
  MadeUp m;
  m.plan.blocks[0].ops[0].phase = Phase::kRecompute;  // 2e9 on each of the two ranks of stage 0
  const Report r = m.report();
  // Per GPU: 6e9 / 4 of the model and 10e9 / 4 in all, in 3e-6 s, of 1e15 per second.
  EXPECT_NEAR(r.model_tflops_per_gpu, 6e9 / 4 / 3e-6 * 1e-12, 1e-9);
  EXPECT_NEAR(r.hardware_tflops_per_gpu, 10e9 / 4 / 3e-6 * 1e-12, 1e-9);
  EXPECT_NEAR(r.mfu, 0.5, 1e-12);
  EXPECT_NEAR(r.hfu, 10.0 / 12, 1e-12);
  EXPECT_EQ(r.peak_flops_dtype, "bf16");
  EXPECT_DOUBLE_EQ(r.peak_flops_per_gpu_tflops, 1000);
}

TEST(Report, UtilisationIsOfTheNarrowPeakUnlessAllLayersArePlain) {
  MadeUp m;
  m.model.layers = 2;
  m.cluster.device.peak_fp8 = FlopsPerSecond(2e15);
  m.workload.precision.matmul = DType::kFp8, m.workload.precision.plain_last = 1;
  EXPECT_EQ(m.report().peak_flops_dtype, "fp8");
  m.workload.precision.plain_first = 1;
  EXPECT_EQ(m.report().peak_flops_dtype, "bf16");
}

TEST(Report, HardwareFlopsCountEveryCallOfARecomputingBlock) {
  MadeUp m;
  m.plan.blocks[0].ops[0].phase = Phase::kRecompute;
  const double once = hardware_flops(m.plan).value;
  m.plan.programs[0].calls.push_back(m.plan.programs[0].calls[0]);
  EXPECT_DOUBLE_EQ(hardware_flops(m.plan).value, once + 2 * 2e9);
}

TEST(Report, RecomputedAttentionCountsItsWholeSquareAsTheModelFlopsDo) {
  MadeUp m;
  Attention a;
  a.batch = 1, a.heads = a.kv_heads = 2, a.seq_q = a.seq_kv = 10, a.head_dim = 4;
  m.plan.blocks[0].ops[0].body = Compute(a);
  m.plan.blocks[0].ops[0].phase = Phase::kRecompute;
  // Two products of 2 b a s^2 d FLOPs on each of two ranks.
  EXPECT_DOUBLE_EQ(hardware_flops(m.plan).value, 6e9 + 2 * (2 * 2.0 * 2 * 10 * 10 * 4));
}

TEST(Report, MemoryIsThatOfTheFullestRankWithOverheads) {
  const MemoryReport m = MadeUp().report().memory;
  EXPECT_EQ(m.stage_bytes, (std::vector<std::int64_t>{600 + 150, 500}));
  EXPECT_EQ(m.peak_memory_bytes, 750);
  EXPECT_EQ(m.stage, 0);
  EXPECT_EQ(m.rank, 0);
  EXPECT_TRUE(m.fits);
  EXPECT_EQ(m.free_bytes(), 250);
  std::int64_t sum = 0;
  for (const MemoryLine& line : m.items) sum += line.bytes;
  EXPECT_EQ(sum, m.peak_memory_bytes);
  ASSERT_FALSE(m.largest.empty());
  EXPECT_EQ(m.largest[0].name, "hidden");
  EXPECT_EQ(m.largest[0].count, 3);
}

TEST(Report, TheFullestRankOfALaterStageIsNamedByItsRank) {
  MadeUp m;
  m.memory[1].live.peak = Bytes(900);
  const MemoryReport r = summarize_memory(m.plan, m.cluster, m.memory);
  EXPECT_EQ(r.stage, 1);
  EXPECT_EQ(r.rank, 2);  // pp is the outermost axis, dp = 2 below it
}

TEST(Report, TheStageWithTheLeastRoomIsTheFullest) {
  MadeUp m;
  OtherKind small;
  small.device = m.cluster.device;
  small.device.memory = Bytes(700);  // stage 1 has 500 of it, stage 0 has 750 of 1000
  small.first = small.last = 1;
  m.cluster.others = {small};
  m.memory[1].kind = 1, m.memory[1].position = 1;
  const MemoryReport r = summarize_memory(m.plan, m.cluster, m.memory);
  EXPECT_EQ(r.stage, 1);
  EXPECT_EQ(r.rank, 2 + 1);
  EXPECT_EQ(r.capacity_bytes, 700);
  EXPECT_EQ(r.free_bytes(), 200);
}

TEST(Report, ThePeakIsTheMeanOfTheDevices) {
  MadeUp m;
  OtherKind half;
  half.device = m.cluster.device;
  half.device.peak_bf16 *= 0.5;
  half.first = half.last = 1;  // one of two nodes
  const double alike = m.report().mfu;
  m.cluster.others = {half};
  EXPECT_DOUBLE_EQ(m.report().mfu, alike / 0.75);
}

TEST(Report, OneByteTooMuchDoesNotFit) {
  MadeUp m;
  m.cluster.device.memory = Bytes(750);
  EXPECT_TRUE(m.report().memory.fits);
  m.cluster.device.memory = Bytes(749);
  EXPECT_FALSE(m.report().memory.fits);
}

TEST(Report, SensitivityDividesRatesAndScalesTimes) {
  const std::vector<SensitivityLine> lines = MadeUp().report().sensitivity;
  ASSERT_EQ(lines.size(), 2U);
  // A rate 10 % higher: 1.1e-6 s become 1.0e-6 s of 3e-6 s. An overhead 10 % lower saves 0.03e-6 s.
  EXPECT_EQ(lines[0].resource, "peak_flops");
  EXPECT_NEAR(lines[0].change_for_ten_percent, -0.1 / 3, 1e-12);
  EXPECT_EQ(lines[1].resource, "launch_overhead");
  EXPECT_NEAR(lines[1].change_for_ten_percent, -0.03 / 3, 1e-12);
}

TEST(Report, NicsGainWhatTheirSlotsLetThrough) {
  MadeUp m;
  m.explanation.sensitivity = {{"infiniband_bandwidth", Seconds(1e-6)}};
  m.cluster = make_cluster({.preset = "hgx-h100", .nodes = 2});
  const double least = 50.0 / (63 * kNicForPcie);  // of the time, with NICs as fast as the slots
  EXPECT_NEAR(m.report().sensitivity[0].change_for_ten_percent, -(1 - least) / 3, 1e-12);
}

// Under one leaf switch nothing holds NICs up, however narrow it is above.
TEST(Report, NicsGainATenthWhereTheirGroupsCrossNarrowSwitches) {
  MadeUp m;
  m.explanation.sensitivity = {{"infiniband_bandwidth", Seconds(1e-6)}};
  m.cluster =
      make_cluster({.preset = "hgx-h100", .nodes = 4, .nodes_per_pod = 2, .oversubscription = 4});
  m.collectives[0].cost.cost.share[bandwidth_of(LinkClass::kInfiniband)] = Seconds(1e-6);
  const auto change = [&m](const std::vector<std::int64_t>& devices) {
    m.collectives[0].group = place_group(m.cluster, devices);
    return m.report().sensitivity[0].change_for_ten_percent;
  };
  const double least = 50.0 / (63 * kNicForPcie);
  EXPECT_NEAR(change({0, 8}), -(1 - least) / 3, 1e-12);
  EXPECT_NEAR(change({0, 16}), -(1 - 1 / 1.1) / 3, 1e-12);
}

TEST(Report, CollectivesAreCountedOnTheBusiestStage) {
  MadeUp m;
  m.plan.programs[1].calls.resize(3, m.plan.programs[1].calls[0]);
  const Report r = m.report();
  ASSERT_EQ(r.collectives.size(), 1U);
  EXPECT_EQ(r.collectives[0].kind, "all_reduce");
  EXPECT_EQ(r.collectives[0].axes, "dp");
  EXPECT_EQ(r.collectives[0].bytes, 1000);
  EXPECT_EQ(r.collectives[0].calls, 3);
}

// Those of a gradient that two projections share, and of any other, take the same time in most
// frameworks: one line, of all calls.
TEST(Report, CollectivesThatReadTheSameAreOneLine) {
  MadeUp m;
  Op other = m.plan.blocks[1].ops[2];
  std::get<Collective>(other.body).projections = 2;
  m.plan.blocks[1].ops.push_back(other);
  m.collectives.push_back(m.collectives[0]);
  m.collectives.back().op.projections = 2;
  m.collectives.push_back(m.collectives[0]);  // met again
  const Report r = m.report();
  ASSERT_EQ(r.collectives.size(), 1U);
  EXPECT_EQ(r.collectives[0].calls, 2);
}

TEST(Report, PredictionsDifferByNumbersNotByNames) {
  MadeUp m;
  const Report a = m.report();
  m.model.name = "another name";
  m.strategy.data.overlap = false;
  EXPECT_TRUE(same_prediction(a, m.report()));
  m.timeline.step_time += 1;
  EXPECT_FALSE(same_prediction(a, m.report()));
}

TEST(Layout, NamesOnlyWhatIsSplit) {
  Strategy s;
  EXPECT_EQ(layout_text(s), "one device, no recompute");
  s.mesh[Axis::kTp] = 8;
  s.zero_stage = 1;
  s.sequence_parallel = true;
  EXPECT_EQ(layout_text(s), "tp 8, sequence parallel, zero 1, no recompute");
}

TEST(Layout, SaysWhatIsRecomputed) {
  Strategy s;
  s.recompute.kind = Recompute::kOps;
  EXPECT_EQ(layout_text(s), "one device, recompute by op");
  s.recompute = {Recompute::kFull, -1, 2};
  EXPECT_EQ(layout_text(s), "one device, full recompute of 1 layer in 2");
}

}  // namespace plait::report_test
