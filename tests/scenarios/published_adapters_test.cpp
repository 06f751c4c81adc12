// The low-rank adapters of published runs.
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/validate.h"
#include "scenarios/published/scenario_of.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_adapters_test {

using nlohmann::json;

// Records do not say which adapters; the performance recipes of Megatron-Bridge have them on qkv.
TEST(PublishedAdapters, AreThoseOfTheRecipe) {
  json record = published_sample();
  record["task_kind"] = "lora";
  const auto adapters = [&] {
    return parse_scenario(scenario_of(run_of(record)).json, "sample").workload.lora;
  };
  EXPECT_EQ(adapters(), (LowRankAdapters{.rank = 32}));
  record["source"] = "NVIDIA Megatron-Bridge docs/performance-summary.md, release 26.02";
  EXPECT_EQ(adapters(), (LowRankAdapters{8, 16, {AdapterTarget::kQkv}}));
  record["source"] = "MLPerf Training 4.1, Llama 2 70B LoRA";
  EXPECT_EQ(adapters(), (LowRankAdapters{16, 32, {AdapterTarget::kQkv, AdapterTarget::kOut}}));
  const std::vector<std::string> assumed = scenario_of(run_of(record)).assumed;
  EXPECT_TRUE(std::ranges::any_of(
      assumed, [](const std::string& a) { return a.starts_with("adapters: "); }));
}

// A record of the shape of Megatron-Bridge's tables, Llama 3 70B on eight GPUs; none of those that
// are published here has adapters.
json record_of_adapters(const char* precision) {
  json record = published_sample();
  record["source"] = "NVIDIA Megatron-Bridge docs/performance-summary.md, release 26.02";
  record["framework"] = "Megatron-Bridge";
  record["task_kind"] = "lora", record["precision"] = precision;
  record["model"] = {{"name", "Llama 3 70B"}, {"layers", 80},    {"hidden", 8192},
                     {"ffn_hidden", 28672},   {"heads", 64},     {"kv_heads", 8},
                     {"vocab", 128256},       {"seq_len", 4096}, {"gated_mlp", true}};
  record["cluster"] = {{"gpu", "H100-SXM5-80GB"}, {"num_gpus", 8}, {"gpus_per_node", 8}};
  record["parallel"] = {{"tp", 2}, {"sp", true}, {"cp", 1},        {"ep", 1},
                        {"pp", 2}, {"dp", 2},    {"zero_stage", 1}};
  record["batch"] = {{"global_batch", 32}, {"micro_batch", 1}};
  record.erase("recompute");
  return record;
}

TEST(PublishedAdapters, BesideNarrowProductsArePlannedAsTheRecipeKeepsItsWeights) {
  struct Case {
    const char* precision;
    DType products;
    NarrowWeights kept;
  };
  for (const Case& c : {Case{"BF16", DType::kBf16, NarrowWeights::kNone},
                        Case{"FP8-CS", DType::kFp8, NarrowWeights::kGathered},
                        Case{"FP8-MX", DType::kFp8, NarrowWeights::kKept},
                        Case{"NVFP4", DType::kNvfp4, NarrowWeights::kNone}}) {
    const RecordScenario written = scenario_of(run_of(record_of_adapters(c.precision)));
    const Scenario s = parse_scenario(written.json, "sample");
    EXPECT_EQ(s.workload.lora, (LowRankAdapters{8, 16, {AdapterTarget::kQkv}})) << c.precision;
    EXPECT_EQ(s.workload.precision.products(), c.products);
    EXPECT_EQ(s.workload.precision.narrow_weights, c.kept);
    EXPECT_TRUE(validate(make_plan(s.model, s.workload, s.strategy)).empty()) << c.precision;
  }
}

}  // namespace plait::published_adapters_test
