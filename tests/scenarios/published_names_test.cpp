// One model in all spellings of its name, and what its configuration says beside the record.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/presets.h"
#include "scenarios/published/model_names.h"
#include "scenarios/published/scenario_of.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_names_test {

using nlohmann::json;

/// With the sizes that records have of a preset, and no more.
json record_of(const Model& m, const std::string& name) {
  json record = published_sample();
  record["framework"] = "megatron-core";
  record["model"] = {
      {"name", name},     {"layers", m.layers}, {"hidden", m.hidden}, {"ffn_hidden", m.ffn_hidden},
      {"heads", m.heads}, {"vocab", m.vocab},   {"seq_len", 1024}};
  if (m.experts > 0) {
    record["model"].update(json{{"experts", m.experts}, {"topk", m.experts_per_token}});
    record["model"].update(json{{"moe_ffn_hidden", m.expert_ffn_hidden}});
  }
  record["parallel"] = {{"dp", 16}};
  return record;
}

Model model_of_record(const json& record) {
  return parse_scenario(scenario_of(run_of(record)).json, "sample").model;
}
Model model_called(const char* preset, const std::string& name) {
  return model_of_record(record_of(*find_preset(preset), name));
}

TEST(PublishedNames, AloneAreOfTheSizeThatTheySay) {
  const auto named = [](const char* name) -> std::string {
    PublishedModel model;
    model.name = name;
    for (const bool gated : {false, true}) {
      model.gated_mlp = gated;
      if (const Preset* preset = preset_called(model)) return preset->model.name;
    }
    return "";
  };
  EXPECT_EQ(named("GPT-2"), "gpt2");
  EXPECT_EQ(named("GPT-2 1.5B"), "gpt2-xl");
  EXPECT_EQ(named("GPT-2 345M"), "gpt2-medium");
  EXPECT_EQ(named("GPT-2 8.3B"), "");
  EXPECT_EQ(named("DeepSeek-V3 671B"), "deepseek-v3");
  EXPECT_EQ(named("DeepSeek-V3 16B"), "");
  EXPECT_EQ(named("Mixtral 8x7B"), "mixtral-8x7b");
  EXPECT_EQ(named("meta-llama/Llama-4-Scout-17B-16E"), "llama-4-scout") << "of 17 billion a token";
  EXPECT_EQ(named("Llama-4-Maverick-17B-128E-Instruct"), "llama-4-maverick");
  EXPECT_EQ(named("Llama 2 7B"), "llama-2-7b");
}

TEST(PublishedNames, AreLettersAndNumbers) {
  EXPECT_EQ(plain_name("DeepSeek-V3 "), "deepseekv3");
  EXPECT_EQ(plain_name("Llama-3.1_8B"), "llama3.1.8b");
  EXPECT_TRUE(is_called("NVIDIA Nemotron_3 Nano", "nemotron-3"));
  EXPECT_FALSE(is_called("Nemotron-340B", "nemotron-3"));
  EXPECT_FALSE(is_called("Llama-2-70B", "llama-2-7b"));
}

TEST(PublishedNames, DeepseekAndKimiHaveLatentsInAnySpelling) {
  for (const char* name : {"DeepSeek-V3", "DeepSeekV3", "DeepSeek V3", "deepseek_v3", "DeepSeek-R1",
                           "deepseek-ai/DeepSeek-V3.1"}) {
    EXPECT_EQ(model_called("deepseek-v3", name).kv_lora_rank, 512) << name;
  }
  for (const char* name : {"Kimi-K2", "Kimi K2", "KIMI_K2", "kimik2"}) {
    EXPECT_EQ(model_called("kimi-k2", name).kv_lora_rank, 512) << name;
  }
}

// DeepSeek-R1's distillates are Llamas and Qwens.
TEST(PublishedNames, AModelOfOtherSizesIsNotThatPreset) {
  EXPECT_EQ(model_called("llama-3.1-70b", "DeepSeek-R1-Distill-Llama-70B").kv_lora_rank, 0);
}

// Every weight of the preset, whatever the record leaves out.
TEST(PublishedNames, WhatARecordLeavesOutIsThePresets) {
  for (const char* preset :
       {"deepseek-v2-lite", "deepseek-v3", "kimi-k2", "falcon-40b", "gpt-neox-20b", "gemma-2-9b",
        "qwen-2.5-7b", "gpt-oss-20b", "glm-4.5-air", "llama-3.2-1b", "nemotron-h-8b"}) {
    const Model m = model_called(preset, preset), expected = *find_preset(preset);
    EXPECT_EQ(count_parameters(m).total(m), count_parameters(expected).total(expected)) << preset;
    EXPECT_EQ(m.norm, expected.norm) << preset;
    EXPECT_EQ(m.positions, expected.positions) << preset;
    EXPECT_EQ(m.parallel_attention, expected.parallel_attention) << preset;
    EXPECT_EQ(m.q_lora_rank, expected.q_lora_rank) << preset;
  }
}

TEST(PublishedNames, ThatArePresetsStandForTheirShape) {
  json record = published_sample();
  record["parallel"] = {{"dp", 16}};
  for (const char* name : {"llama-3.1-8b", "meta-llama/Llama-3.1-8B-Instruct", "Qwen3-30B-A3B"}) {
    record["model"] = {{"name", name}, {"seq_len", 1024}};
    const Model m = model_of_record(record);
    EXPECT_GT(count_parameters(m).total(m), 8e9) << name;
  }
  record["model"] = {{"name", "llama-3.1-8b"}, {"layers", 2}, {"seq_len", 1024}};
  EXPECT_EQ(model_of_record(record).layers, 2);
  EXPECT_EQ(model_of_record(record).kv_heads, 8);
  record["model"] = {{"name", "my own"}, {"seq_len", 1024}};
  EXPECT_THROW(scenario_of(run_of(record)), NotRepresentable);
}

TEST(PublishedNames, ARecordsOwnFieldsWinOverThePresets) {
  json record = record_of(*find_preset("deepseek-v2-lite"), "DeepSeek-V2-Lite");
  record["model"]["q_lora_rank"] = 384;
  EXPECT_EQ(model_of_record(record).q_lora_rank, 384);
  record = record_of(*find_preset("llama-3.2-1b"), "Llama 3.2 1B");
  record["model"]["tied_embeddings"] = false;
  EXPECT_FALSE(model_of_record(record).tied_embeddings);
}

TEST(PublishedNames, ThePresetIsListed) {
  const RecordScenario s = scenario_of(run_of(record_of(*find_preset("falcon-40b"), "Falcon_40B")));
  EXPECT_TRUE(std::ranges::any_of(
      s.assumed, [](const std::string& text) { return mentions(text, "the preset falcon-40b"); }));
}

}  // namespace plait::published_names_test
