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

/// A run of BigScience on V100, whose table says no more of the model than its size.
json bigscience(const char* table, const char* model) {
  json record = published_sample();
  record["source"] = std::string("BigScience experiments/gpt2.md, \"") + table + "\"";
  record["model"] = {{"name", model}, {"vocab", 50257}, {"seq_len", 1024}, {"gated_mlp", false}};
  record["cluster"] = {{"gpu", "V100-SXM2-32GB"}, {"num_gpus", 64}, {"gpus_per_node", 4}};
  record["parallel"] = {{"tp", 4}, {"pp", 16}, {"dp", 1}};
  record["batch"] = {{"global_batch", 1024}, {"micro_batch", 4}};
  record["precision"] = "fp16", record["recompute"] = "full";
  return record;
}

TEST(PublishedRecipes, BigSciencesModelsHaveTheShapesOfItsScripts) {
  const RecordScenario of = scenario_of(run_of(bigscience("Megatron", "GPT-52B")));
  const Scenario scenario = parse_scenario(of.json, "sample");
  EXPECT_EQ(of.framework, "megatron-lm-2021-local");
  EXPECT_EQ(scenario.model.layers, 64);
  EXPECT_EQ(scenario.model.hidden, 8192);
  EXPECT_EQ(scenario.model.heads, 32);
  EXPECT_EQ(scenario.cluster.nics_per_node, 2);
  EXPECT_DOUBLE_EQ(scenario.cluster.nic_bandwidth.value, 27.1e9 / 8);
  EXPECT_TRUE(assumes(of, "layers, width and heads of a model of this size"));
  EXPECT_THROW(scenario_of(run_of(bigscience("Megatron", "GPT-24B"))), NotRepresentable);
}

TEST(PublishedRecipes, WhatARecordOnlyRecallsOfAFabricBigSciencesOwnFigureOutranks) {
  json record = bigscience("Megatron", "GPT-52B");
  const auto nics = [&record](const char* words) {
    record["cluster"]["interconnect"] = words;
    return parse_scenario(scenario_of(run_of(record)).json, "sample").cluster.nics_per_node;
  };
  EXPECT_EQ(nics("4x100Gb/s Omni-Path per node (recalled)"), 2);
  EXPECT_EQ(nics("4x100Gb/s Omni-Path per node"), 4);
}

TEST(PublishedRecipes, BigSciencesTablesAreOfThreeFrameworks) {
  json record = bigscience("Megatron + Deepspeed 3D (new branch)", "GPT-39B");
  EXPECT_EQ(scenario_of(run_of(record)).framework, "megatron-deepspeed");
  record["notes"] = "DS=N; Notes=07-10";
  EXPECT_EQ(scenario_of(run_of(record)).framework, "megatron-lm-2021-local");
  record = bigscience("HF + Deepspeed Zero 3 + Full Offload", "GPT-39B");
  record["parallel"] = {{"dp", 64}, {"zero_stage", 3}};
  const RecordScenario of = scenario_of(run_of(record));
  EXPECT_EQ(of.framework, "deepspeed-zero3-2021");
  const Scenario scenario = parse_scenario(of.json, "sample");
  EXPECT_FALSE(scenario.workload.flash_attention);
  EXPECT_EQ(scenario.strategy.fsdp.prefetch, 0);
}

TEST(PublishedRecipes, BigSciencesLargestModelsHaveTheirStateOnTheHost) {
  json record = bigscience("HF + Deepspeed Zero 3 + Full Offload", "GPT-97B");
  record["parallel"] = {{"dp", 64}, {"zero_stage", 3}};
  const auto offload = [&record](const char* notes) {
    record["notes"] = notes;
    return parse_scenario(scenario_of(run_of(record)).json, "sample").strategy.offload;
  };
  EXPECT_EQ(offload("").optimizer, Offload::kCpu);
  EXPECT_EQ(offload("").parameters, Offload::kCpu);
  EXPECT_FALSE(offload("Notes=05-27").any());
}

TEST(PublishedRecipes, BigSciencesZero3KeepsInputsOfLayersOnTheHost) {
  json record = bigscience("Megatron + Deepspeed ZeRO (old branch)", "GPT-52B");
  record["parallel"] = {{"tp", 4}, {"dp", 16}, {"zero_stage", 3}};
  const Scenario scenario = parse_scenario(scenario_of(run_of(record)).json, "sample");
  EXPECT_EQ(scenario.strategy.offload.activations, Offload::kCpu);
  EXPECT_EQ(scenario.strategy.offload.activation_layers, 64);
  record["notes"] = "ID=14; PA_CPU=N";
  EXPECT_THROW(scenario_of(run_of(record)), NotRepresentable);
}

}  // namespace plait::published_recipes_test
