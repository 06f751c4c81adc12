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
