// What names of checkpoints say of their formats.
#include "scenarios/dialects/checkpoint_names.h"

#include <gtest/gtest.h>

#include "scenarios/dialects/hub_names.h"

namespace plait::checkpoint_names_test {

std::string format_of(std::string_view name) {
  const CheckpointFormat* format = format_in_name(name, preset_of_hub_name(name));
  return format == nullptr ? "" : std::string(format->name);
}

TEST(CheckpointNames, SayHowTheyAreQuantised) {
  EXPECT_EQ(format_of("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8"), "fp8");
  EXPECT_EQ(format_of("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"), "fp8");
  EXPECT_EQ(format_of("Qwen/Qwen2.5-72B-Instruct-AWQ"), "int4");
  EXPECT_EQ(format_of("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4"), "int4");
  EXPECT_EQ(format_of("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8"), "int8");
  EXPECT_EQ(format_of("hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4"), "int4");
  EXPECT_EQ(format_of("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16"), "int4");
  EXPECT_EQ(format_of("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8"), "w8a8");
  EXPECT_EQ(format_of("nvidia/Llama-3.3-70B-Instruct-FP4"), "nvfp4");
  EXPECT_EQ(format_of("nvidia/DeepSeek-R1-0528-NVFP4-v2"), "nvfp4 experts");
  EXPECT_EQ(format_of("meta-llama/Llama-3.1-8B-Instruct"), "");
}

TEST(CheckpointNames, ConfigurationsSayTheSame) {
  const auto format = [](const HfQuantization& q) {
    const CheckpointFormat* found = format_in_config(q);
    return found == nullptr ? "" : std::string(found->name);
  };
  EXPECT_EQ(format({"fp8", 0, ""}), "fp8");
  EXPECT_EQ(format({"mxfp4", 0, ""}), "mxfp4 experts");
  EXPECT_EQ(format({"awq", 4, ""}), "int4");
  EXPECT_EQ(format({"gptq", 8, ""}), "int8");
  EXPECT_EQ(format({"gptq", 3, ""}), "");
  EXPECT_EQ(format({"bitsandbytes", 4, ""}), "nf4");
  EXPECT_EQ(format({"modelopt", 0, "NVFP4"}), "nvfp4");
  EXPECT_EQ(format({"compressed-tensors", 8, "float-quantized"}), "fp8");
  EXPECT_EQ(format({"compressed-tensors", 4, "pack-quantized"}), "int4");
  EXPECT_EQ(format({"hqq", 4, ""}), "");
}

TEST(CheckpointNames, OfModelsThatArePublishedQuantisedNeedNotSaySo) {
  for (const char* name : {"deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-R1-0528",
                           "deepseek-ai/DeepSeek-V3.1", "moonshotai/Kimi-K2-Instruct-0905"}) {
    EXPECT_EQ(format_of(name), "fp8") << name;
  }
  EXPECT_EQ(format_of("openai/gpt-oss-20b"), "mxfp4 experts");
  EXPECT_EQ(format_of("unsloth/gpt-oss-20b-BF16"), "plain");
  EXPECT_EQ(format_of("cognitivecomputations/DeepSeek-V3-0324-AWQ"), "int4");
  EXPECT_EQ(format_of("deepseek-ai/DeepSeek-R1-Distill-Llama-8B"), "");
}

TEST(CheckpointNames, OfTheSameModelLeadToOnePresetWhateverTheFormat) {
  EXPECT_EQ(preset_of_hub_name("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16"),
            "llama-3.1-8b");
  EXPECT_EQ(preset_of_hub_name("Qwen/Qwen3-30B-A3B-FP8"), "qwen3-30b-a3b");
  EXPECT_EQ(preset_of_hub_name("nvidia/DeepSeek-R1-0528-NVFP4-v2"), "deepseek-r1");
  EXPECT_EQ(preset_of_hub_name("deepseek-ai/DeepSeek-V2-Lite"), "deepseek-v2-lite")
      << "v2 is a word of a format only behind one";
}

}  // namespace plait::checkpoint_names_test
