// Which published runs in fp8 keep and gather their weights in 8 bits: by what their recipes say.
#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/published/scenario_of.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_precision_test {

using nlohmann::json;

json run_with(const std::string& source, const std::string& precision, int zero_stage = 1) {
  json record = published_sample();
  record["source"] = source, record["precision"] = precision;
  record["parallel"]["zero_stage"] = zero_stage;
  return record;
}
std::string narrow(const json& record) {
  return scenario(record)["workload"]["precision"].value("narrow_weights", "none");
}
bool keeps(const json& record) { return narrow(record) == "gathered"; }

constexpr const char* kBridge = "NVIDIA Megatron-Bridge performance summary; release 26.02";

TEST(PublishedPrecision, RecipesOfMegatronBridgeKeepWeightsIn8BitsWithOneScale) {
  EXPECT_TRUE(keeps(run_with(kBridge, "FP8")));
  EXPECT_TRUE(keeps(run_with(kBridge, "FP8-CS")));
  for (const char* other : {"BF16", "NVFP4", "fp8 blockwise"}) {
    EXPECT_EQ(narrow(run_with(kBridge, other)), "none") << other;
  }
  json blocks = run_with(kBridge, "FP8");
  blocks["model"]["name"] = "DeepSeek V3";
  EXPECT_EQ(narrow(blocks), "none");
}

TEST(PublishedPrecision, BlocksHaveScalesOfTheirOwnWhereTheRecordSaysSo) {
  const auto amax = [](json record, const char* notes = "") {
    record["notes"] = notes;
    return scenario(record).value("kernels", json::object()).value("amax", "fused");
  };
  for (const char* blocks : {"fp8 blockwise", "FP8-SC", "FP8 sub-channel", "MXFP8", "MX-FP8",
                             "FP8-MX", "fp8_mx", "FP8_SC", "fp8 sc"})
    EXPECT_EQ(amax(run_with(kBridge, blocks)), "blocks") << blocks;
  EXPECT_EQ(amax(run_with(kBridge, "FP8"), "recipe X_H100_FP8_SC_V1"), "blocks");
  for (const char* current : {"FP8-CS", "fp8_cs", "FP8 CS"})
    EXPECT_EQ(amax(run_with(kBridge, current)), "eager") << current;
  for (const char* other : {"FP8", "BF16"})
    EXPECT_EQ(amax(run_with(kBridge, other)), "fused") << other;
}

TEST(PublishedPrecision, InMxfp8TheyGatherThemIn16Bits) {
  for (const char* mxfp8 : {"MXFP8", "FP8-MX", "FP8 finer granularity"}) {
    EXPECT_EQ(narrow(run_with(kBridge, mxfp8)), "kept") << mxfp8;
  }
}

TEST(PublishedPrecision, WithoutTheDistributedOptimizerWeightsStayIn16Bits) {
  EXPECT_FALSE(keeps(run_with(kBridge, "FP8", 0)));
}

TEST(PublishedPrecision, WhatTheRecipeSaysIsAssumed) {
  const std::vector<std::string> assumed = scenario_of(run_of(run_with(kBridge, "FP8"))).assumed;
  EXPECT_EQ(std::ranges::count(assumed, "recipe: its weights are kept in 8 bits"), 1);
}

TEST(PublishedPrecision, OfNeMosLauncherFinetuningDoesAndHasItsStateInBf16) {
  const std::string docs = "NVIDIA NeMo docs; container/release 24.07@2024-08-14; ";
  EXPECT_FALSE(keeps(run_with(docs + "Pretraining", "FP8")));
  const json tuned = scenario(run_with(docs + "Finetuning SFT", "FP8"));
  EXPECT_EQ(tuned["workload"]["precision"],
            json::parse(R"({"weights": "bf16", "matmul": "fp8", "narrow_weights": "gathered",
                            "master": "bf16", "moments": "bf16", "split_master": false})"));
}

TEST(PublishedPrecision, OtherRecipesThatSayItAreThoseOfDgxCloudNeMo2AndMegatronLmsExample) {
  for (const char* source : {"github NVIDIA/dgxc-benchmarking llama3.1/README.md @v25.04",
                             "NVIDIA NeMo docs, LLAMA3-8B (FP8) - B200, NeMo 25.04.rc2",
                             "Megatron-LM examples/llama/README.md"}) {
    EXPECT_TRUE(keeps(run_with(source, "FP8"))) << source;
  }
  EXPECT_FALSE(keeps(run_with("Megatron-LM golden values", "fp8")));
}

TEST(PublishedPrecision, FsdpGathersIn8BitsWhereTheRecordSaysSo) {
  const char* source = "pytorch/torchtitan benchmarks/llama3-8b_h200_202506_trainy-whitefiber.md";
  json record = run_with(source, "float8 (linears, fp8 all-gather) + bf16", 3);
  record["parallel"] = {{"tp", 1}, {"pp", 1}, {"dp", 16}, {"zero_stage", 3}, {"fsdp", "FSDP2"}};
  record["recompute"] = "none";
  EXPECT_TRUE(keeps(record));
  EXPECT_TRUE(scenario(record)["strategy"]["fsdp_options"]["early_scales"].get<bool>());
  record["precision"] = "float8 (linears) + bf16";
  EXPECT_FALSE(keeps(record));
}

TEST(PublishedPrecision, RowwiseIsAScaleForEachRow) {
  const auto scales = [](const char* precision) {
    return scenario(run_with("pytorch/torchtitan", precision))["workload"]["precision"].value(
        "scales", "tensor");
  };
  EXPECT_EQ(scales("float8 rowwise"), "row");
  EXPECT_EQ(scales("float8 tensorwise"), "tensor");
  EXPECT_EQ(scales("bf16"), "tensor");
}

TEST(PublishedPrecision, WhatIsDeniedIsNotTaken) {
  json record = published_sample();
  record["precision"] = "bf16, no FP8";
  EXPECT_FALSE(
      json::parse(scenario_of(run_of(record)).json)["workload"]["precision"].contains("matmul"));
}

TEST(PublishedPrecision, WhatIsDeniedIsNoTypeOfTheRun) {
  const auto weights = [](const char* precision) {
    return scenario(run_with("a page", precision))["workload"]["precision"]["weights"];
  };
  EXPECT_EQ(weights("bf16 (not fp16)"), "bf16");
  EXPECT_EQ(weights("BF16 instead of FP16"), "bf16");
  EXPECT_EQ(weights("fp32 (no TF32)"), "fp32");
  EXPECT_EQ(weights("FP32, TF32 disabled"), "fp32");
  EXPECT_EQ(weights("amp_bf16"), "bf16");
  EXPECT_EQ(weights("16-mixed"), "fp16");
  EXPECT_EQ(weights("32-true"), "fp32");
}

// Volta's and Turing's matrix units have no bf16.
TEST(PublishedPrecision, AnyTypeOf16BitsIsThatOfTheGpusUnits) {
  json record = published_sample();
  const auto weights = [&record](const char* gpu, const char* precision) {
    record["cluster"]["gpu"] = gpu, record["precision"] = precision;
    return scenario(record)["workload"]["precision"]["weights"];
  };
  for (const char* volta : {"V100-SXM2-32GB", "Tesla V100-PCIE-32GB", "T4"}) {
    for (const char* open : {"", "mixed", "AMP"}) EXPECT_EQ(weights(volta, open), "fp16") << open;
  }
  EXPECT_TRUE(assumes(record, "precision \"AMP\": fp16"));
  EXPECT_EQ(weights("A100-SXM4-80GB", "AMP"), "bf16");
  EXPECT_EQ(weights("A100-SXM4-80GB", "half precision"), "fp16");
  EXPECT_EQ(weights("V100-SXM2-32GB", "bf16"), "bf16") << "the record's own word";
}

TEST(PublishedPrecision, NumbersThatNoPlanHasAreRefused) {
  for (const char* other : {"FP4", "MXFP4", "INT8", "w8a8", "fp64", "double"})
    EXPECT_THROW(scenario(run_with("a page", other)), NotRepresentable) << other;
  EXPECT_EQ(scenario(run_with("a page", "NV-FP4"))["workload"]["precision"]["matmul"], "nvfp4");
}

TEST(PublishedPrecision, ANumberIsNoTypeAndListed) {
  json record = published_sample();
  record["precision"] = 16;
  EXPECT_TRUE(assumes(record, "not read: precision (16 is no text)"));
  EXPECT_TRUE(assumes(record, "precision: bf16"));
}

}  // namespace plait::published_precision_test
