#include "scenarios/dialects/hub_names.h"

#include <gtest/gtest.h>

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

TEST(HubNames, OfOtherShapesLeadNowhere) {
  EXPECT_EQ(preset_of_hub_name("mistralai/Mistral-7B-Instruct-v0.3"), "") << "a larger vocabulary";
  EXPECT_EQ(preset_of_hub_name("deepseek-ai/DeepSeek-R1-Distill-Llama-70B"), "");
  EXPECT_EQ(preset_of_hub_name("Qwen/Qwen3-Coder-30B-A3B-Instruct"), "");
}

TEST(HubNames, OfAPresetThatWasChangedIsNone) {
  Model m = *find_preset("llama-3.1-8b");
  EXPECT_EQ(hub_name_of(m), "meta-llama/Llama-3.1-8B");
  m.layers = 16;
  EXPECT_EQ(hub_name_of(m), "");
}

}  // namespace plait::hub_names_test
