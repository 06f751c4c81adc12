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

json deepseek_of_bridge(const std::string& layout, int pp, int chunks) {
  json record = published_sample();
  record["source"] = "NVIDIA Megatron-Bridge performance recipes; release 26.04";
  record["model"] = {{"name", "DeepSeek V3"}, {"layers", 61},        {"hidden", 7168},
                     {"ffn_hidden", 18432},   {"heads", 128},        {"kv_heads", 128},
                     {"vocab", 129280},       {"seq_len", 4096},     {"gated_mlp", true},
                     {"experts", 256},        {"topk", 8},           {"moe_ffn_hidden", 2048},
                     {"attention", "MLA"},    {"shared_experts", 1}, {"first_dense_layers", 3}};
  record["cluster"]["gpu"] = "GB300-NVL72-288GB", record["cluster"]["num_gpus"] = 256;
  record["cluster"]["gpus_per_node"] = 4;
  record["parallel"] = {{"tp", 1},        {"pp", pp}, {"vpp", chunks},  {"ep", 16},
                        {"dp", 256 / pp}, {"etp", 1}, {"zero_stage", 1}};
  record["batch"] = {{"global_batch", 2048}, {"micro_batch", 1}};
  record["precision"] = "BF16";
  record["notes"] =
      "recipe ds_BF16_V1 (main): a2a_overlap=False, pp_layout=" + layout + "; task: x";
  return record;
}

PipelineOptions pipeline(const json& record) {
  return parse_scenario(scenario_of(run_of(record)).json, "record").strategy.pipeline;
}
std::int64_t modules(const json& record) {
  return parse_scenario(scenario_of(run_of(record)).json, "record").model.mtp_layers;
}

std::vector<std::int64_t> fours_and_one() {
  std::vector<std::int64_t> out(15, 4);
  out.push_back(1);
  return out;
}

TEST(PublishedStages, LayoutsAreReadWithTheModulesThatTheyPlace) {
  const json record = deepseek_of_bridge("Et*4|(t*4|)*14tmL", 2, 8);
  EXPECT_EQ(pipeline(record).stage_layers, fours_and_one());
  EXPECT_EQ(pipeline(record).chunks, 8);
  EXPECT_EQ(modules(record), 1);
  // What stands in the schedule, of a model without modules; the last piece has the loss alone.
  json in_schedule = deepseek_of_bridge("", 8, 4);
  in_schedule["source"] = "NVIDIA/Megatron-LM docs/discussions", in_schedule["notes"] = "";
  in_schedule["parallel"]["schedule"] = "interleaved 1F1B; layout Et|(tt|)*30L";
  std::vector<std::int64_t> twos(32, 2);
  twos.front() = 1, twos.back() = 0;
  EXPECT_EQ(pipeline(in_schedule).stage_layers, twos);
  EXPECT_EQ(modules(in_schedule), 0);
}

TEST(PublishedStages, LayoutsOfArgumentsSayHowManyChunksAStageHas) {
  json record = deepseek_of_bridge("", 4, 1);
  record["source"] = "NVIDIA Megatron-LM CI golden values", record["notes"] = "";
  record["extra_args"] = {{"pipeline-model-parallel-layout", "Et*4|(t*4|)*14tmL"},
                          {"mtp-num-layers", "1"}};
  EXPECT_EQ(pipeline(record).chunks, 4);
  EXPECT_EQ(pipeline(record).stage_layers, fours_and_one());
}

TEST(PublishedStages, LayoutsOfOtherModelsAreNotTaken) {
  const json record = deepseek_of_bridge("Et*4|(t*4|)*13tmL", 2, 8);
  EXPECT_NE(pipeline(record).stage_layers.at(0), 1);
  EXPECT_EQ(modules(record), 0);
}

TEST(PublishedStages, DeepSeeksRecipesHaveMegatronBridgesLayoutAndAModule) {
  EXPECT_EQ(pipeline(deepseek_of_bridge("None", 4, 4)).stage_layers, fours_and_one());
  EXPECT_EQ(pipeline(deepseek_of_bridge("None", 16, 1)).stage_layers, fours_and_one());
  EXPECT_EQ(pipeline(deepseek_of_bridge("None", 8, 1)).stage_layers,
            (std::vector<std::int64_t>{8, 8, 8, 8, 8, 8, 8, 5}));
  EXPECT_EQ(modules(deepseek_of_bridge("None", 4, 4)), 1);
  json without = deepseek_of_bridge("None, MTP disabled", 4, 4);
  EXPECT_EQ(modules(without), 0);
  EXPECT_EQ(pipeline(without).stage_layers, fours_and_one());
  json kimi = deepseek_of_bridge("None", 4, 4);
  kimi["model"]["name"] = "Kimi K2", kimi["model"]["heads"] = kimi["model"]["kv_heads"] = 64;
  kimi["model"]["experts"] = 384;
  EXPECT_EQ(pipeline(kimi).stage_layers, fours_and_one());
  EXPECT_EQ(modules(kimi), 0);
  json elsewhere = deepseek_of_bridge("None", 4, 4);
  elsewhere["source"] = "NVIDIA/Megatron-LM docs/discussions";
  EXPECT_EQ(modules(elsewhere), 0);
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
