// adapter_config.json of PEFT: which adapters it describes, and what is refused of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plan/lora.h"
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
  return printed(read_settings(config.dump(), "f", Dialect::kPeft).warnings);
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

/// Of "all-linear" with r = 16, over a base with a model.
struct AllLinear {
  std::vector<T> targets;
  std::int64_t parameters = 0;
  Warnings warnings;
};
AllLinear all_linear(const std::string& model) {
  json config = sample();
  config["target_modules"] = "all-linear";
  const Imported read = read_settings(config.dump(), "f", Dialect::kPeft);
  EXPECT_TRUE(read.warnings.empty());
  json base = json::parse(kBase);
  base["model"] = json::parse(model);
  base["workload"]["sequence_length"] = 64;
  AllLinear out;
  const std::string text = scenario_json(read, "f", {base.dump(), "base.json"}, "", &out.warnings);
  const Scenario s = parse_scenario(text, "out.json");
  out.targets = s.workload.lora.targets;
  out.parameters = count_adapter_parameters(s.model, s.workload.lora);
  return out;
}

// transformers, modeling_NAME.py.
TEST(Peft, AllLinearMeansTheModulesOfTheModel) {
  const AllLinear llama = all_linear(R"("llama-3.1-8b")");
  EXPECT_EQ(llama.targets,
            (std::vector<T>{T::kQ, T::kK, T::kV, T::kOut, T::kGateHalf, T::kUpHalf, T::kDown}));
  EXPECT_TRUE(llama.warnings.empty());
  const std::vector<T> four = {T::kQkv, T::kOut, T::kUp, T::kDown};
  // 16 (in + out) of each, in 40 layers: qkv, out, gate and up in one, down.
  const AllLinear phi = all_linear(R"({"preset": "phi-4"})");
  EXPECT_EQ(phi.targets, four);
  EXPECT_EQ(phi.parameters,
            40 * 16 * ((5120 + 60 * 128) + 2 * 5120 + (5120 + 2 * 17920) + (17920 + 5120)));
  EXPECT_TRUE(phi.warnings.empty());
  // Without a gate; 71 heads of queries and one of keys and one of values.
  const AllLinear falcon = all_linear(R"("falcon-7b")");
  EXPECT_EQ(falcon.targets, four);
  EXPECT_EQ(falcon.parameters, 32 * 16 * ((4544 + 73 * 64) + 2 * 4544 + 2 * (4544 + 18176)));
  for (const char* name : {"gpt2", "pythia-6.9b", "gpt-neox-20b", "bloom-176b"}) {
    EXPECT_EQ(all_linear('"' + std::string(name) + '"').targets, four) << name;
  }
  for (const char* name : {"opt-13b", "phi-2", "gpt-j-6b"}) {
    EXPECT_EQ(all_linear('"' + std::string(name) + '"').targets,
              (std::vector<T>{T::kQ, T::kK, T::kV, T::kOut, T::kUp, T::kDown}))
        << name;
  }
}

TEST(Peft, AllLinearOfAModelOfNoKnownNameIsAssumed) {
  const AllLinear own =
      all_linear(R"({"layers": 2, "hidden": 64, "heads": 4, "vocab": 512, "gated_mlp": false})");
  EXPECT_EQ(own.targets, (std::vector<T>{T::kQ, T::kK, T::kV, T::kOut, T::kUp, T::kDown}));
  EXPECT_EQ(
      printed(own.warnings),
      std::vector<std::string>{"W008: \"all-linear\" is read as q, k, v, out, up, down of each "
                               "layer: which modules such a model has is not known"});
}

TEST(Peft, AllLinearOfAConfigIsThatOfItsModelType) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "config.json";
  std::ofstream(file) << R"({"model_type": "phi3", "num_hidden_layers": 2, "hidden_size": 64,
    "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 4,
    "vocab_size": 512, "max_position_embeddings": 512})";
  EXPECT_EQ(all_linear(R"({"hf_config": ")" + file.string() + R"("})").targets,
            (std::vector<T>{T::kQkv, T::kOut, T::kUp, T::kDown}));
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
