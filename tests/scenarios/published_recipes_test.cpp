// What defaults and scripts say of runs whose records do not: dropout, and the kernel of attention.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/published/scenario_of.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_recipes_test {

using nlohmann::json;

bool assumes(const RecordScenario& of, const std::string& words) {
  return std::ranges::any_of(
      of.assumed, [&](const std::string& a) { return a.find(words) != std::string::npos; });
}

TEST(PublishedRecipes, MegatronsDefaultIsDropoutOfGpt) {
  json record = published_sample();
  record["source"] = "Megatron-LM README images/model_table.png, 2024";
  record["model"]["gated_mlp"] = false;
  const RecordScenario gpt = scenario_of(run_of(record));
  EXPECT_EQ(gpt.framework, "megatron-core");
  EXPECT_EQ(parse_scenario(gpt.json, "sample").model.dropout, 0.1);
  EXPECT_TRUE(assumes(gpt, "dropout: 0.1, Megatron-LM's default"));
  record["model"]["gated_mlp"] = true;
  EXPECT_EQ(parse_scenario(scenario_of(run_of(record)).json, "sample").model.dropout, 0);
}

// The container is NeMo's of May 2024 until November, then of December; the configuration stayed.
TEST(PublishedRecipes, DgxCloudsGpt3HasDropoutInAllReleases) {
  json record = published_sample();
  record["framework"] = "NeMo/Megatron-Core";
  record["model"]["gated_mlp"] = false;
  for (const auto& [release, framework, kernel] :
       {std::tuple{"v24.11.1", "nemo-launcher", FlashKernel::kFlash2},
        std::tuple{"v25.02", "nemo", FlashKernel::kNewest},
        std::tuple{"v25.04", "nemo", FlashKernel::kNewest}}) {
    record["source"] = std::string("NVIDIA/dgxc-benchmarking nemo_megatron/README_175b.md @") +
                       release + ", table \"NeMo Megatron\"";
    const RecordScenario of = scenario_of(run_of(record));
    const Scenario scenario = parse_scenario(of.json, "sample");
    EXPECT_EQ(of.framework, framework) << release;
    EXPECT_EQ(scenario.model.dropout, 0.1) << release;
    EXPECT_EQ(scenario.kernels.attention, kernel) << release;
    EXPECT_TRUE(assumes(of, "dropout 0.1")) << release;
  }
}

TEST(PublishedRecipes, DgxCloudsNemotron340bHadFlashAttention2) {
  json record = published_sample();
  record["framework"] = "NeMo/Megatron-Core";
  const auto kernel = [&](const std::string& file) {
    record["source"] = "NVIDIA/dgxc-benchmarking nemotron/" + file;
    return parse_scenario(scenario_of(run_of(record)).json, "sample").kernels.attention;
  };
  EXPECT_EQ(kernel("README_340b.md @v24.11.1"), FlashKernel::kFlash2);
  EXPECT_EQ(kernel("README_340b.md @v25.02"), FlashKernel::kNewest);
  EXPECT_EQ(kernel("README_15b.md @v24.11.1"), FlashKernel::kNewest);
}

// Their scripts have --no-rope-fusion; the page of Mixtral names FlashAttention 2.
TEST(PublishedRecipes, FlagPerfsMixturesRotateByKernelsOfTheirOwn) {
  json record = published_sample();
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  const auto kernels = [&](const std::string& benchmark) {
    record["source"] = "FlagOpen/FlagPerf training/nvidia/" + benchmark + "/README.md";
    return parse_scenario(scenario_of(run_of(record)).json, "sample").kernels;
  };
  EXPECT_EQ(kernels("mixtral_8x7B-megatron").rope, Fusion::kEager);
  EXPECT_EQ(kernels("mixtral_8x7B-megatron").attention, FlashKernel::kFlash2);
  EXPECT_EQ(kernels("qwen1.5_MoE-megatron").rope, Fusion::kEager);
  EXPECT_EQ(kernels("llama3_8B-megatron").rope, Fusion::kFused);
}

// NeMo's pages of 2024 fine-tune on SQuAD, packed: attention stays within documents.
TEST(PublishedRecipes, NemoFineTunesOnPackedDocuments) {
  json record = published_sample();
  record["source"] =
      "NVIDIA NeMo docs docs/source/performance/performance_summary.md; Finetuning SFT";
  const RecordScenario tuned = scenario_of(run_of(record));
  EXPECT_EQ(parse_scenario(tuned.json, "sample").workload.documents.length, 195);
  EXPECT_TRUE(assumes(tuned, "documents: SQuAD's"));
  record["source"] = "NVIDIA NeMo docs docs/source/performance/performance_summary.md; Pretraining";
  EXPECT_EQ(parse_scenario(scenario_of(run_of(record)).json, "sample").workload.documents.length,
            0);
}

}  // namespace plait::published_recipes_test
