// Steps on the machine: bytes over bandwidth, and what shapes stand for one another.
#include "serving/step_costs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/memory.h"
#include "serving/capacity.h"
#include "sim/simulate.h"
#include "tests/serving/served.h"

namespace plait::step_costs_test {

// A lone token reads every weight but the embedding table once: never faster than the data sheet's
// bandwidth, and, kernels apart, not slower than 0.7 of it.
TEST(StepCosts, ATokenTakesTheWeightsOverTheBandwidth) {
  const ServedModel s = served();
  const StepTime t = time_step(s, decode(1, 128));
  const ParameterCount p = count_parameters(s.model);
  const double bytes = 2.0 * static_cast<double>(p.total(s.model) - p.embedding);
  const double least = bytes / s.cluster.device.memory_bandwidth.value;
  const double memory = to_seconds(t.parts[0]).value;
  EXPECT_GT(memory, least);
  EXPECT_LT(memory, least / 0.7);
  EXPECT_LT(memory, to_seconds(t.total()).value);
}

// Prefill is bound by arithmetic: 2 FLOPs per weight and token, between 0.4 and 1 of the peak.
TEST(StepCosts, APromptTakesItsFlopsOverThePeak) {
  const ServedModel s = served();
  const StepTime t = time_step(s, {{1, 8192, 8192}, {}, 1});
  const ParameterCount p = count_parameters(s.model);
  const double flops = 2.0 * 8192 * static_cast<double>(p.layer * s.model.layers);
  const double least = flops / s.cluster.device.peak_bf16.value;
  EXPECT_GT(to_seconds(t.total()).value, least);
  EXPECT_LT(to_seconds(t.total()).value, least / 0.4);
}

TEST(StepCosts, StagesAndHopsAddUpToTheSimulatedStep) {
  const ServedModel s = served({.tp = 2, .pp = 4});
  const Step step = {{1, 100, 100}, {7, 1, 300}, 8};
  const Plan plan = make_serving_plan(s.model, step, s.precision, s.layout, 1);
  EXPECT_EQ(time_step(s, step).total(), simulate(plan, s.cluster, s.costs).timeline.step_time);
}

TEST(StepCosts, MoreRanksAreFasterAndEnginesReduceFasterThanNccl) {
  ServedModel one = served(), eight = served({.tp = 8});
  const SimTime alone = time_step(one, decode(4, 512)).total();
  const SimTime nccl = time_step(eight, decode(4, 512)).total();
  eight.costs.engine_all_reduce = EngineReduce::kVllm;
  const SimTime own = time_step(eight, decode(4, 512)).total();
  EXPECT_LT(nccl, alone);
  EXPECT_LT(own, nccl);
}

TEST(StepCosts, ShapesOfCapturedGraphs) {
  const std::pair<std::int64_t, std::int64_t> cases[] = {
      {1, 1}, {3, 4}, {5, 8}, {8, 8}, {9, 16}, {250, 256}, {257, 272}, {600, 600}};
  for (const auto& [n, padded] : cases) EXPECT_EQ(padded_batch(n), padded) << n;
}

RC_GTEST_PROP(StepCosts, RoundingChangesNoCountByMoreThanOneIn64, ()) {
  const std::int64_t n = *rc::gen::inRange<std::int64_t>(0, 1 << 24);
  RC_ASSERT(std::abs(rounded(n) - n) * 64 <= n);
  if (n < 64) RC_ASSERT(rounded(n) == n);
}

// Blocks are what 0.9 of the memory leaves beside weights and the largest step, over the bytes of
// all layers' keys and values.
TEST(Capacity, IsWhatMemoryLeavesOverBytesPerToken) {
  const ServedModel s = served();
  EngineLimits limits;
  limits.max_context = 4096;
  const CacheCapacity c = cache_capacity(s, limits, {});
  const StageRoom& room = c.stages[0];
  const auto usable =
      static_cast<std::int64_t>(0.9 * static_cast<double>(s.cluster.device.memory.value));
  const std::int64_t token = 2 * 32 * 8 * 128 * 2;
  EXPECT_EQ(room.bytes_per_token.value, token);
  EXPECT_EQ(c.blocks, (usable - room.use.bytes().value) / (16 * token));
  EXPECT_EQ(c.tokens, c.blocks * 16);
  EXPECT_NEAR(c.concurrency(limits), static_cast<double>(c.tokens) / 4096, 1e-9);
}

// Of every second layer no more than a window is kept: w - 1 tokens before a step of at most 512,
// which begin within a block.
TEST(Capacity, OfWindowsIsThatOfTheTokensInThem) {
  ServedModel s = served();
  EngineLimits limits;
  limits.max_context = 65536, limits.max_tokens = 512;
  const CacheCapacity all = cache_capacity(s, limits, {});
  s.model.attention_window = 1025, s.model.full_attention_every = 2;
  const CacheCapacity some = cache_capacity(s, limits, {});
  EXPECT_EQ(some.tokens, all.tokens);
  EXPECT_EQ(some.blocks, all.blocks * 32);  // of a layer each
  EXPECT_EQ(some.kept.all, 16);
  EXPECT_EQ(some.kept.windowed, 16);
  const double each = 16 * (65536 / 16) + 16 * ((1024 + 512) / 16 + 1);
  EXPECT_DOUBLE_EQ(some.concurrency(limits), static_cast<double>(some.blocks) / each);
  EXPECT_GT(some.concurrency(limits), 1.9 * all.concurrency(limits));
}

// A pool for one sequence and a half; llama.cpp deals it to slots.
TEST(Capacity, OfAStatedPoolWithWindowsIsAsLargeAPartOfASequences) {
  ServedModel s = served();
  s.model.attention_window = 1025, s.model.full_attention_every = 2;
  EngineLimits limits;
  limits.max_context = 8192, limits.max_tokens = 512, limits.cache_tokens = 12288;
  EXPECT_NEAR(cache_capacity(s, limits, {}).concurrency(limits), 1.5, 1e-3);
  EXPECT_TRUE(cache_capacity(s, limits, {}).holds(limits));
  limits.engine = ServingEngine::kLlamaCpp;
  EXPECT_DOUBLE_EQ(cache_capacity(s, limits, {}).concurrency(limits), 1);
}

TEST(KeptLayers, OfAWindowGiveBlocksBack) {
  const KeptLayers kept{.all = 1, .windowed = 2, .window = 9};  // 8 tokens before a step's own
  // A prompt of 20 in blocks of 4, then token by token. Token 21 sees 13 .. 21: of 6 blocks those
  // of 13 .. 16, 17 .. 20 and 21.
  EXPECT_EQ(kept.blocks(0, 20, 4), 3 * 5);
  EXPECT_EQ(kept.blocks(20, 1, 4), 6 + 2 * 3);
  EXPECT_EQ(kept.blocks(21, 1, 4), 6 + 2 * 3);
  EXPECT_EQ(kept.blocks(24, 1, 4), 7 + 2 * 3);
  EXPECT_EQ(kept.most_blocks(20, 20, 4), 3 * 5);
  EXPECT_EQ(kept.most_blocks(100, 1, 4), 25 + 2 * 4);
  for (std::int64_t n = 0; n < 100; ++n) {
    for (const std::int64_t at_once : {1, 5}) {
      EXPECT_LE(kept.blocks(n, at_once, 4), kept.most_blocks(n + at_once, at_once, 4));
    }
  }
}

TEST(Capacity, TheStageWithTheLeastRoomDecides) {
  EngineLimits limits;
  limits.max_context = 4096;
  const CacheCapacity c = cache_capacity(served({.tp = 1, .pp = 4}), limits, {});
  for (const StageRoom& room : c.stages) EXPECT_LE(c.tokens, room.tokens);
}

// A graph is one launch; without it the host issues kernel by kernel, and the device waits.
TEST(StepCosts, GraphsHideTheLaunchesOfStepsThatOnlyGenerate) {
  ServedModel s = served();
  const Step step = decode(8, 1000), prompts = {{8, 100, 100}, {}, 8};
  const StepTime free = time_step(s, step), read = time_step(s, prompts);
  EXPECT_EQ(free.issue, 0);
  s.costs.host.launch_time = s.costs.host.collective_time = Seconds(20e-6);
  const StepTime captured = time_step(s, step);
  EXPECT_EQ(captured.issue, to_sim_time(Seconds(20e-6)));
  EXPECT_EQ(captured.total(), free.total() + captured.issue);
  EXPECT_GT(time_step(s, prompts).total(), read.total());
  s.graphs = false;
  const StepTime eager = time_step(s, step);
  // 32 layers of ten kernels and more.
  EXPECT_GT(eager.total(), to_sim_time(Seconds(320 * 20e-6)));
  EXPECT_EQ(eager.total() - eager.issue, free.total());
  EXPECT_EQ(eager.parts, free.parts);
}

TEST(StepCosts, GraphsAreOfStepsThatOnlyGenerateUpTo512Tokens) {
  EXPECT_TRUE(is_captured(decode(512, 10)));
  EXPECT_FALSE(is_captured(decode(513, 10)));
  EXPECT_FALSE(is_captured({{}, {171, 3, 10}, 513}));
  EXPECT_FALSE(is_captured({{1, 10, 10}, {8, 1, 10}, 9}));
}

}  // namespace plait::step_costs_test
