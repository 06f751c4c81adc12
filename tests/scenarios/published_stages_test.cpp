// Records of pipelines whose frameworks deal layers unevenly, and of cases that say elsewhere how
// they ran.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/published/scenario_of.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_stages_test {

using nlohmann::json;

json staged(const std::string& system, int layers, int pp) {
  json record = published_sample();
  record["source"] = "Oneflow-Inc/libai Benchmark.md";
  record["system"] = system;
  record["model"] = {{"name", "GPT-2"}, {"layers", layers}, {"hidden", 1024},    {"heads", 16},
                     {"vocab", 50304},  {"seq_len", 1024},  {"gated_mlp", false}};
  record["parallel"] = {{"tp", 1}, {"pp", pp}, {"dp", 16 / pp}};
  return record;
}

json layers_of(const json& record) {
  const json scenario = json::parse(scenario_of(run_of(record)).json);
  return scenario["strategy"]["pipeline"].value("stage_layers", json());
}

// The first is the example of Oneflow-Inc/libai pull request 296, the third that of 225.
TEST(PublishedStages, LiBaisLastStageHasTheHeadAndFewerLayers) {
  EXPECT_EQ(layers_of(staged("LiBai (OneFlow)", 24, 4)), json({6, 7, 7, 4}));
  EXPECT_EQ(layers_of(staged("LiBai (OneFlow)", 48, 8)), json({6, 6, 7, 7, 7, 7, 7, 1}));
  EXPECT_EQ(layers_of(staged("LiBai (OneFlow)", 24, 2)), json({12, 12}));
}

TEST(PublishedStages, MegatronsBesideThemAreEven) {
  EXPECT_EQ(layers_of(staged("Megatron-LM e156d2fe", 24, 4)), json());
}

json llama_in_torchtitan(int pp, const char* schedule) {
  json record = published_sample();
  record["source"] = "pytorch/torchtitan benchmarks";
  record["model"] = {{"name", "llama3-405b"}, {"layers", 126},   {"hidden", 16384},
                     {"ffn_hidden", 53248},   {"heads", 128},    {"kv_heads", 8},
                     {"vocab", 128256},       {"seq_len", 8192}, {"gated_mlp", true}};
  record["cluster"]["gpu"] = "H100-SXM5-80GB", record["cluster"]["num_gpus"] = 512;
  record["parallel"] = {{"tp", 8}, {"pp", pp}, {"dp", 64 / pp}, {"zero_stage", 3}};
  record["parallel"]["schedule"] = schedule;
  return record;
}

TEST(PublishedStages, TorchtitanDealsWhatIsLeftToThePiecesBehindTheFirst) {
  const json pieces = layers_of(llama_in_torchtitan(4, "Interleaved 1F1B"));
  EXPECT_EQ(pieces, json({15, 16, 16, 16, 16, 16, 16, 15}));
  EXPECT_EQ(layers_of(llama_in_torchtitan(8, "1F1B")), json({15, 16, 16, 16, 16, 16, 16, 15}));
}

TEST(PublishedStages, TorchtitansPipelineGathersAndReducesOnceAStep) {
  const RecordScenario made = scenario_of(run_of(llama_in_torchtitan(8, "1F1B")));
  const Strategy s = parse_scenario(made.json, "record").strategy;
  EXPECT_EQ(s.fsdp.no_sync, NoSync::kPipelines2024);
  EXPECT_FALSE(s.fsdp.reshard_after_forward);
  EXPECT_TRUE(s.sums_whole_gradients());
  json alone = llama_in_torchtitan(8, "1F1B");
  alone["parallel"] = {{"tp", 8}, {"dp", 64}, {"zero_stage", 3}};
  EXPECT_TRUE(parse_scenario(scenario_of(run_of(alone)).json, "record")
                  .strategy.fsdp.reshard_after_forward);
}

json baichuan() {
  json record = published_sample();
  record["source"] = "FlagOpen/FlagPerf training/nvidia/baichuan2_13b-deepspeed/README.md";
  record["parallel"] = {
      {"tp", 1}, {"pp", 1}, {"dp", 16}, {"fsdp", "sharded (DeepSpeed; not read)"}};
  record.erase("recompute");
  return record;
}

TEST(PublishedStages, FlagPerfsBaichuanRanAsItsCaseSays) {
  const RecordScenario made = scenario_of(run_of(baichuan()));
  const json scenario = json::parse(made.json);
  EXPECT_EQ(scenario["strategy"]["zero_stage"], 1);
  EXPECT_EQ(scenario["strategy"]["recompute"], "full");
  EXPECT_EQ(scenario["workload"]["flash_attention"], false);
  EXPECT_NO_THROW(parse_scenario(made.json, "record"));
}

TEST(PublishedStages, WhatARecordSaysItselfWins) {
  json record = baichuan();
  record["parallel"]["zero_stage"] = 2;
  record["recompute"] = "none";
  const json scenario = json::parse(scenario_of(run_of(record)).json);
  EXPECT_EQ(scenario["strategy"]["zero_stage"], 2);
  EXPECT_EQ(scenario["strategy"]["recompute"], "none");
}

}  // namespace plait::published_stages_test
