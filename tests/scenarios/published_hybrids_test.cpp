// Records of models whose layers are of several kinds: what they leave out, and where it is from.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/presets.h"
#include "scenarios/published/scenario_of.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_hybrids_test {

using nlohmann::json;

bool assumes(const RecordScenario& s, const std::string& words) {
  return std::ranges::any_of(s.assumed,
                             [&](const std::string& text) { return mentions(text, words); });
}

json qwen3_next() {
  json record = published_sample();
  record["model"] = {{"name", "Qwen3-Next-80B-A3B"},
                     {"layers", 48},
                     {"hidden", 2048},
                     {"ffn_hidden", 5120},
                     {"heads", 16},
                     {"kv_heads", 2},
                     {"vocab", 151936},
                     {"seq_len", 4096},
                     {"gated_mlp", true},
                     {"experts", 512},
                     {"topk", 10},
                     {"moe_ffn_hidden", 512},
                     {"shared_experts", "1 x 512"}};
  record["source"] = "yanring/Megatron-MoE-ModelZoo";
  record["parallel"]["tp"] = 1, record["parallel"]["dp"] = 4;
  return record;
}

// Megatron-Bridge's pages write "Qwen3_Next_80B_a3B".
TEST(PublishedHybrids, NamesMayHaveUnderscores) {
  json record = qwen3_next();
  record["model"]["name"] = "Qwen3_Next_80B_a3B";
  EXPECT_EQ(parse_scenario(scenario_of(run_of(record)).json, "sample").model.layer_pattern,
            find_preset("qwen3-next-80b-a3b")->layer_pattern);
}

// They are no transformers of as many layers.
TEST(PublishedHybrids, UnknownModelsOfHybridFamiliesAreRefused) {
  for (const char* name : {"Nemotron_3_Ultra", "NemotronH_56B", "Jamba 1.5 Large", "kimi-linear"}) {
    json record = published_sample();
    record["model"]["name"] = name;
    EXPECT_THROW(scenario_of(run_of(record)), NotRepresentable) << name;
  }
  json transformer = published_sample();
  transformer["model"]["name"] = "Nemotron-340B";
  EXPECT_NO_THROW(scenario_of(run_of(transformer)));
}

// Every size of the preset, but for the module and the longest sequence.
TEST(PublishedHybrids, Qwen3NextHasTheSizesOfItsConfiguration) {
  const RecordScenario s = scenario_of(run_of(qwen3_next()));
  const Model m = parse_scenario(s.json, "sample").model;
  const Model& preset = *find_preset("qwen3-next-80b-a3b");
  EXPECT_EQ(m.layer_pattern, preset.layer_pattern);
  EXPECT_EQ(count_parameters(m).total(m), count_parameters(preset).total(preset));
  EXPECT_EQ(m.rope_head_dim, 64);
  EXPECT_EQ(m.scan_chunk, 64);
  EXPECT_TRUE(m.qk_norm);
  EXPECT_EQ(m.mtp_layers, 0);
  EXPECT_TRUE(assumes(s, "config.json of Qwen/Qwen3-Next-80B-A3B-Instruct"));
}

TEST(PublishedHybrids, AModuleIsThatOfTheNotes) {
  json record = qwen3_next();
  record["notes"] = "MTP 1 layer in the yaml";
  EXPECT_EQ(parse_scenario(scenario_of(run_of(record)).json, "sample").model.mtp_layers, 1);
}

TEST(PublishedHybrids, OtherLayersThanTheConfigurationsAreRefused) {
  json record = qwen3_next();
  record["model"]["layers"] = 47;
  EXPECT_THROW(scenario_of(run_of(record)), NotRepresentable);
  record = qwen3_next(), record["model"]["name"] = "Qwen3-Next-8B";
  EXPECT_THROW(scenario_of(run_of(record)), NotRepresentable);
}

TEST(PublishedHybrids, NemotronHIsKnownByItsName) {
  json record = published_sample();
  record["model"] = {{"name", "Nemotron-H-8B"}, {"layers", 52},    {"hidden", 4096},
                     {"ffn_hidden", 21504},     {"heads", 32},     {"kv_heads", 8},
                     {"vocab", 131072},         {"seq_len", 8192}, {"gated_mlp", false}};
  const RecordScenario s = scenario_of(run_of(record));
  const Model m = parse_scenario(s.json, "sample").model;
  EXPECT_EQ(m.layer_pattern, find_preset("nemotron-h-8b")->layer_pattern);
  EXPECT_EQ(m.state_heads, 128);
  EXPECT_EQ(m.positions, PositionKind::kNone);
  EXPECT_TRUE(assumes(s, "Nemotron-H-8B-Base-8K"));
}

json with_pattern(const char* pattern) {
  json record = published_sample();
  record["model"].update({{"layers", 4}, {"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  record["parallel"]["pp"] = 1, record["parallel"]["vpp"] = 1, record["parallel"]["dp"] = 8;
  record["extra_args"] = {{"hybrid-layer-pattern", pattern}};
  return record;
}

// Megatron-LM, megatron/training/arguments.py: states of 128, heads of 64, 8 groups; twice the
// hidden width in all.
TEST(PublishedHybrids, PatternsHaveMegatronsDefaults) {
  const RecordScenario s = scenario_of(run_of(with_pattern("MEM*")));
  const Model m = parse_scenario(s.json, "sample").model;
  EXPECT_EQ(m.layer_pattern, "MEM*");
  EXPECT_EQ(m.state_size, 128);
  EXPECT_EQ(m.state_head_dim, 64);
  EXPECT_EQ(m.state_groups, 8);
  EXPECT_EQ(m.state_width(), 2 * m.hidden);
  EXPECT_TRUE(assumes(s, "Megatron-LM's defaults"));
  json stated = with_pattern("MEM*");
  stated["extra_args"]["mamba-state-dim"] = 64;
  EXPECT_EQ(parse_scenario(scenario_of(run_of(stated)).json, "sample").model.state_size, 64);
}

// A module has attention and experts, as the last two layers, which are one here.
TEST(PublishedHybrids, ModulesStandBehindSlashes) {
  json record = with_pattern("ME*E/*E/*E");
  record["extra_args"]["mtp-num-layers"] = "2";
  const Model m = parse_scenario(scenario_of(run_of(record)).json, "sample").model;
  EXPECT_EQ(m.layer_pattern, "MEa");
  EXPECT_EQ(m.layers, 3);
  EXPECT_EQ(m.mtp_layers, 2);
  EXPECT_THROW(scenario_of(run_of(with_pattern("ME*M/*E"))), NotRepresentable);
}

}  // namespace plait::published_hybrids_test
