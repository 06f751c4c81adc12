#include "search/neighbours.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plait::neighbours_test {

Scenario scenario_with(const std::string& strategy) {
  return parse_scenario(
      R"({"model": "gpt2", "workload": {"sequence_length": 128, "global_batch": 64},
          "cluster": {"preset": "dgx-a100"}, "strategy": )" +
          strategy + "}",
      "x");
}

std::vector<std::vector<Override>> of_decision(const std::string& decision,
                                               const std::string& strategy) {
  std::vector<std::vector<Override>> out;
  for (const Neighbour& n : neighbours(scenario_with(strategy))) {
    if (n.decision == decision) out.push_back(n.sets);
  }
  return out;
}

TEST(Neighbours, SchedulesAreThoseOfAPipeline) {
  EXPECT_TRUE(of_decision("schedule", R"({"tp": 2})").empty());
  EXPECT_FALSE(of_decision("schedule", R"({"pp": 2})").empty());
}

TEST(Neighbours, SizesAreHalvedToOneAndGrowFourfold) {
  const auto splits = of_decision("split", R"({"tp": 4})");
  for (const char* tp : {"1", "2", "8", "16"}) {
    EXPECT_EQ(std::ranges::count(splits, std::vector<Override>{{"strategy.tp", tp}}), 1) << tp;
  }
}

/// Of a scenario of this framework, set as `sets` say.
std::vector<Neighbour> of_mixture(const std::string& framework, std::vector<Override> sets) {
  if (!framework.empty()) sets.push_back({"framework", framework});
  const std::string text = R"({
      "model": "mixtral-8x7b", "workload": {"sequence_length": 128, "global_batch": 64},
      "cluster": {"preset": "dgx-a100"}, "strategy": {"fsdp": 8, "zero_stage": 3}})";
  return neighbours(parse_scenario(text, "x", sets));
}

/// Whether some of them has this override.
bool has(const std::string& framework, const Override& wanted, const std::vector<Override>& sets) {
  return std::ranges::any_of(of_mixture(framework, sets), [&wanted](const Neighbour& n) {
    return std::ranges::count(n.sets, wanted) > 0;
  });
}

TEST(Neighbours, AreOfWhatTheFrameworkHas) {
  const std::vector<Override> pipeline = {{"strategy.fsdp", "4"}, {"strategy.pp", "2"}};
  const Override by_op = {"strategy.recompute", "ops"}, stages = {"strategy.pp", "2"};
  const Override zero_bubble = {"strategy.pipeline.schedule", "zb-h1"};
  EXPECT_TRUE(has("", by_op, {}));
  EXPECT_FALSE(has("megatron-core", by_op, {}));
  EXPECT_TRUE(has("", zero_bubble, pipeline));
  EXPECT_FALSE(has("megatron-core", zero_bubble, pipeline));
  EXPECT_TRUE(has("pytorch", stages, {}));
  EXPECT_FALSE(has("transformers", stages, {}));
}

const Override kOptimizer = {"strategy.offload.optimizer", "cpu"};
const Override kParameters = {"strategy.offload.parameters", "cpu"};

/// Of a scenario of this framework, the changes that move state to the host.
std::vector<std::vector<Override>> moves(const std::string& framework,
                                         const std::vector<Override>& sets = {}) {
  std::vector<std::vector<Override>> out;
  for (const Neighbour& n : of_mixture(framework, sets)) {
    if (n.decision == "offload") out.push_back(n.sets);
  }
  return out;
}

TEST(Neighbours, StateGoesToTheHostAsTheFrameworkMovesIt) {
  using Moves = std::vector<std::vector<Override>>;
  EXPECT_EQ(moves("deepspeed-zero3"), Moves({{kOptimizer}, {kOptimizer, kParameters}}));
  EXPECT_EQ(moves("torchtitan"), Moves({{kOptimizer, kParameters}}));
  EXPECT_FALSE(has("llm.c", kOptimizer, {{"strategy.zero_stage", "1"}}));
  for (const std::vector<Override>& sets : moves("transformers")) {
    EXPECT_EQ(std::ranges::count(sets, kParameters), 1);
  }
}

// Shards that are the optimizer's own masters leave with it (S101); where there are none yet, they
// are made.
TEST(Neighbours, ShardsOfParametersLeaveWithTheirMasters) {
  using Moves = std::vector<std::vector<Override>>;
  EXPECT_EQ(moves(""), Moves({{kOptimizer, kParameters}}));
  EXPECT_EQ(moves("", {{"strategy.zero_stage", "2"}}),
            Moves({{kOptimizer}, {kOptimizer, kParameters, {"strategy.zero_stage", "3"}}}));
}

TEST(Neighbours, LogitsAndActivationsNeedLess) {
  const Override pieces = {"workload.loss_pieces", "16"};
  const Override activations = {"strategy.offload.activations", "cpu"};
  EXPECT_TRUE(has("", pieces, {}) && has("", activations, {}));
  EXPECT_FALSE(has("", pieces, {{"strategy.tp", "2"}, {"strategy.fsdp", "4"}}));
  EXPECT_FALSE(has("llm.c", pieces, {{"strategy.zero_stage", "1"}}));
}

TEST(Neighbours, GradientsThatAddUpWholeMayBeSharded) {
  const Override never = {"strategy.fsdp_options.no_sync", "never"};
  EXPECT_TRUE(has("transformers", never, {}));
  EXPECT_FALSE(has("deepspeed-zero3", never, {}));
}

TEST(Neighbours, NoneSaysWhatTheScenarioSays) {
  const std::string strategy = R"({"tp": 2, "pp": 2, "recompute": "full"})";
  for (const Neighbour& n : neighbours(scenario_with(strategy))) {
    EXPECT_EQ(std::ranges::count(n.sets, Override{"strategy.recompute", "full"}), 0);
    EXPECT_NE(n.sets, (std::vector<Override>{{"strategy.tp", "2"}}));
    EXPECT_NE(n.sets, (std::vector<Override>{{"strategy.pp", "2"}}));
  }
}

}  // namespace plait::neighbours_test
