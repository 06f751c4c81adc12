// adapter_config.json of PEFT: which adapters it describes, and what is refused of it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/dialects/dialects.h"

namespace plait::peft_test {

using nlohmann::json;
using T = AdapterTarget;

constexpr const char* kBase = R"({"model": "llama-3.1-8b", "workload": {"sequence_length": 4096,
  "global_batch": 64, "lora": {"frozen": "nf4"}}, "cluster": "hgx-h100",
  "strategy": {"dp": 2, "fsdp": 4, "zero_stage": 3}})";

/// What PEFT 0.17 writes, of adapters of queries and values.
json sample() {
  return json::parse(R"({
    "alpha_pattern": {}, "auto_mapping": null, "base_model_name_or_path": "meta-llama/Llama-3.1-8B",
    "bias": "none", "corda_config": null, "eva_config": null, "exclude_modules": null,
    "fan_in_fan_out": false, "inference_mode": true, "init_lora_weights": true,
    "layer_replication": null, "layers_pattern": null, "layers_to_transform": null,
    "loftq_config": {}, "lora_alpha": 32, "lora_bias": false, "lora_dropout": 0.0,
    "megatron_config": null, "megatron_core": "megatron.core", "modules_to_save": null,
    "peft_type": "LORA", "qalora_group_size": 16, "r": 16, "rank_pattern": {}, "revision": null,
    "target_modules": ["v_proj", "q_proj"], "target_parameters": null, "task_type": "CAUSAL_LM",
    "trainable_token_indices": null, "use_dora": false, "use_qalora": false, "use_rslora": false})");
}

Scenario scenario_of(const json& config) {
  const Imported read = read_settings(config.dump(), "adapter_config.json", Dialect::kPeft);
  return parse_scenario(scenario_json(read, "adapter_config.json", {kBase, "base.json"}, ""),
                        "out.json");
}
LowRankAdapters adapters_of(const json& config) { return scenario_of(config).workload.lora; }

/// "D006: use_dora"
std::string refusal(const json& config) {
  try {
    scenario_of(config);
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().where.file, "adapter_config.json");
    EXPECT_FALSE(e.text().cure.empty());
    return e.text().code;
  }
  return "accepted";
}

std::vector<std::string> warnings_of(const json& config) {
  return read_settings(config.dump(), "f", Dialect::kPeft).warnings;
}

TEST(Peft, RankScaleAndTargetsAreThoseOfTheFileAndTheRestTheBases) {
  const Scenario s = scenario_of(sample());
  LowRankAdapters expected{16, 32, {T::kV, T::kQ}};
  expected.frozen = FrozenWeights::kNf4;
  EXPECT_EQ(s.workload.lora, expected);
  EXPECT_EQ(s.strategy.mesh[Axis::kDp], 2);
  EXPECT_EQ(s.strategy.mesh[Axis::kFsdp], 4);
  EXPECT_EQ(s.strategy.zero_stage, 3);
  EXPECT_TRUE(warnings_of(sample()).empty());
}

TEST(Peft, WhatIsLeftOutIsAsInLoraConfig) {
  const LowRankAdapters got =
      adapters_of({{"peft_type", "LORA"}, {"target_modules", {"q_proj", "v_proj"}}});
  EXPECT_EQ(got.rank, 8);
  EXPECT_EQ(got.alpha, 8);
}

TEST(Peft, ModulesAreKnownByTheLastPartOfTheirNames) {
  json config = sample();
  config["target_modules"] = {"model.layers.self_attn.o_proj", "qkv_proj", "gate_up_proj",
                              "mlp.down_proj"};
  EXPECT_EQ(adapters_of(config).targets, (std::vector<T>{T::kOut, T::kQkv, T::kUp, T::kDown}));
  config["target_modules"] = {"q_proj", "self_attn.q_proj"};
  EXPECT_EQ(adapters_of(config).targets, std::vector<T>{T::kQ}) << "two names of one module";
}

TEST(Peft, AllLinearMeansTheSevenMatricesOfALayerAndSaysSo) {
  json config = sample();
  config["target_modules"] = "all-linear";
  EXPECT_EQ(adapters_of(config).targets,
            (std::vector<T>{T::kQ, T::kK, T::kV, T::kOut, T::kGateHalf, T::kUpHalf, T::kDown}));
  ASSERT_EQ(warnings_of(config).size(), 1U);
  EXPECT_TRUE(warnings_of(config)[0].starts_with("W008"));
}

// alpha / sqrt(r) = 32 / 4.
TEST(Peft, ARankStabilizedScaleDividesByTheRootOfTheRank) {
  json config = sample();
  EXPECT_EQ(adapters_of(config).scale(), 2);
  config["use_rslora"] = true;
  EXPECT_EQ(adapters_of(config).scale(), 8);
}

TEST(Peft, DropoutIsThatOfTheFile) {
  json config = sample();
  config["lora_dropout"] = 0.05;
  EXPECT_EQ(adapters_of(config).dropout, 0.05);
}

TEST(Peft, UnknownKeysAreLeftOutAndNamed) {
  json config = sample();
  config["velocity"] = 3;
  EXPECT_EQ(warnings_of(config), std::vector<std::string>{"W007: not read: velocity"});
}

TEST(Peft, WhatIsNotPlannedIsRefused) {
  EXPECT_EQ(refusal(sample()), "accepted");
  const std::vector<std::pair<const char*, json>> others = {
      {"use_dora", true},
      {"bias", "lora_only"},
      {"modules_to_save", {"lm_head"}},
      {"rank_pattern", {{"q_proj", 4}}},
      {"alpha_pattern", {{"q_proj", 4}}},
      {"layers_to_transform", {0, 1}},
      {"layers_to_transform", 3},
      {"target_modules", ".*q_proj"},
      {"target_modules", {"lm_head"}},
      {"target_modules", nullptr},
      {"peft_type", "IA3"},
  };
  for (const auto& [key, value] : others) {
    json config = sample();
    config[key] = value;
    EXPECT_EQ(refusal(config), "D006") << key;
    if (std::string_view(key) == "peft_type") continue;
    config.erase("peft_type");
    EXPECT_EQ(refusal(config), "D006") << key << ", without peft_type";
  }
}

}  // namespace plait::peft_test
