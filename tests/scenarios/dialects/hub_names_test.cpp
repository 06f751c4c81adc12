#include "scenarios/dialects/hub_names.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/presets.h"

namespace plait::hub_names_test {

TEST(HubNames, OfPresetsLeadBackToThem) {
  std::size_t named = 0;
  for (const Preset& preset : presets()) {
    const std::string_view hub = hub_name_of(preset.model);
    if (hub.empty()) continue;
    EXPECT_EQ(preset_of_hub_name(hub), preset.model.name);
    ++named;
  }
  EXPECT_GT(named, presets().size() / 2);
}

TEST(HubNames, OfReleasesLeadToTheShapeThatTheyShare) {
  EXPECT_EQ(preset_of_hub_name("meta-llama/Llama-3.1-8B-Instruct"), "llama-3.1-8b");
  EXPECT_EQ(preset_of_hub_name("meta-llama/Meta-Llama-3.1-8B"), "llama-3.1-8b");
  EXPECT_EQ(preset_of_hub_name("meta-llama/Llama-2-7b-chat-hf"), "llama-2-7b");
  EXPECT_EQ(preset_of_hub_name("Qwen/Qwen3-235B-A22B-Instruct-2507"), "qwen3-235b-a22b");
  EXPECT_EQ(preset_of_hub_name("mistralai/Mixtral-8x7B-Instruct-v0.1"), "mixtral-8x7b");
  EXPECT_EQ(preset_of_hub_name("/models/DeepSeek-V3-0324"), "deepseek-v3");
}

TEST(HubNames, OfPresetsAreNamesToo) {
  for (const Preset& preset : presets()) {
    EXPECT_EQ(preset_of_hub_name(preset.model.name), preset.model.name);
  }
}

TEST(HubNames, OfModelsMadeFromOthersLeadToTheirShape) {
  EXPECT_EQ(preset_of_hub_name("meta-llama/Meta-Llama-3-8B-Instruct"), "llama-3-8b");
  EXPECT_EQ(preset_of_hub_name("meta-llama/Meta-Llama-3-70B"), "llama-3-70b");
  EXPECT_EQ(preset_of_hub_name("Qwen/Qwen3-30B-A3B-Thinking-2507"), "qwen3-30b-a3b");
  EXPECT_EQ(preset_of_hub_name("Qwen/Qwen3-Coder-30B-A3B-Instruct"), "qwen3-30b-a3b");
  EXPECT_EQ(preset_of_hub_name("deepseek-ai/DeepSeek-R1-Distill-Llama-8B"), "llama-3.1-8b");
  EXPECT_EQ(preset_of_hub_name("deepseek-ai/DeepSeek-R1-Distill-Llama-70B"), "llama-3.3-70b");
  EXPECT_EQ(preset_of_hub_name("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B"), "qwen-2.5-32b");
  EXPECT_EQ(preset_of_hub_name("deepseek-ai/DeepSeek-V3.1-Terminus"), "deepseek-v3");
  EXPECT_EQ(preset_of_hub_name("mistralai/Mistral-7B-Instruct-v0.3"), "mistral-7b-v0.3");
  EXPECT_EQ(preset_of_hub_name("google/gemma-3-12b-it-qat"), "gemma-3-12b");
  EXPECT_EQ(preset_of_hub_name("meta-llama_Llama-3.3-70B-Instruct"), "llama-3.3-70b");
}

TEST(HubNames, OfOtherShapesLeadNowhere) {
  for (const char* name :
       {"deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "deepseek-ai/DeepSeek-V3.2-Exp",
        "Qwen/Qwen3-Coder-480B-A35B-Other", "mistralai/Mistral-7B-v0.4", "Qwen/Qwen2-7B"}) {
    EXPECT_EQ(preset_of_hub_name(name), "") << name;
  }
  const std::vector<std::string> near = presets_like("Qwen/Qwen2-7B-Instruct");
  EXPECT_NE(std::ranges::find(near, "qwen-2.5-7b"), near.end());
}

TEST(HubNames, OfReleasesMaySayMorePositions) {
  EXPECT_EQ(positions_of_hub_name("Qwen/Qwen3-30B-A3B-Instruct-2507"), 262144);
  EXPECT_EQ(positions_of_hub_name("Qwen/Qwen3-30B-A3B"), 0);
  EXPECT_EQ(positions_of_hub_name("Qwen/Qwen2.5-7B-Instruct-AWQ"), 32768);
  EXPECT_EQ(positions_of_hub_name("Qwen/Qwen2.5-7B"), 0);
  EXPECT_EQ(positions_of_hub_name("Qwen/Qwen2.5-3B-Instruct"), 0) << "as many as the preset";
  EXPECT_EQ(positions_of_hub_name("meta-llama/Llama-4-Scout-17B-16E-Instruct"), 10485760);
  EXPECT_EQ(positions_of_hub_name("meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8"), 1048576);
  EXPECT_EQ(positions_of_hub_name("meta-llama/Llama-4-Scout-17B-16E"), 0);
}

TEST(HubNames, OfAPresetThatWasChangedIsNone) {
  Model m = *find_preset("llama-3.1-8b");
  EXPECT_EQ(hub_name_of(m), "meta-llama/Llama-3.1-8B");
  m.layers = 16;
  EXPECT_EQ(hub_name_of(m), "");
}

}  // namespace plait::hub_names_test
