// What the config.json of a checkpoint says of its weights, in scenarios that serve it.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "scenarios/scenario.h"

namespace plait::checkpoint_test {

/// A mixture of experts in `quantization`, served or trained by `task`.
Scenario scenario_of(const std::string& quantization, const std::string& task,
                     const std::string& cluster = "hgx-h200") {
  std::string folder = testing::TempDir() + "plaitXXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/config.json")
      << R"({"model_type": "deepseek_v3", "quantization_config": )" << quantization << "}";
  std::ofstream(folder + "/s.json") << R"({"model": {"hf_config": "config.json"}, "cluster": ")"
                                    << cluster << R"(", )" << task << "}";
  const Scenario s = load_scenario(folder + "/s.json");
  std::filesystem::remove_all(folder);
  return s;
}

ServingPrecision served(const std::string& quantization, const std::string& serving = "{}",
                        const std::string& cluster = "hgx-h200") {
  return scenario_of(quantization, R"("strategy": {"tp": 8}, "serving": )" + serving, cluster)
      .serving->precision;
}

std::string warnings_of(const Scenario& s) {
  std::string out;
  for (const Warning& w : s.warnings) out += printed(w) + "\n";
  return out;
}

constexpr const char* kFp8 = R"({"quant_method": "fp8", "fmt": "e4m3",
                                 "weight_block_size": [128, 128]})";

TEST(Checkpoint, IsServedAsItIsStored) {
  const ServingPrecision eight = served(kFp8);
  EXPECT_EQ(eight.products, DType::kFp8);
  EXPECT_EQ(eight.expert_products, DType::kFp8);
  EXPECT_EQ(eight.weights, WeightFormat::kPlain);
  const ServingPrecision four = served(R"({"quant_method": "mxfp4"})");
  EXPECT_EQ(four.experts, WeightFormat::kMxfp4);
  EXPECT_EQ(four.weights, WeightFormat::kPlain);
  EXPECT_FALSE(four.products || four.expert_products);
}

// Scales are of blocks where the checkpoint's are, or the one that the model is published as.
TEST(Checkpoint, SaysWhatHasAScale) {
  const std::string task = R"("strategy": {"tp": 8}, "serving": {})";
  const auto amax = [&task](const std::string& quantization) {
    return scenario_of(quantization, task).kernels.amax;
  };
  EXPECT_EQ(amax(kFp8), Fusion::kBlocks);
  EXPECT_EQ(amax(R"({"quant_method": "fp8"})"), Fusion::kFused);
  EXPECT_EQ(amax(R"({"quant_method": "compressed-tensors", "format": "float-quantized",
    "config_groups": {"group_0": {"weights": {"num_bits": 8, "strategy": "block"}}}})"),
            Fusion::kBlocks);
  const auto of_preset = [](const std::string& model, const std::string& kernels) {
    return parse_scenario(R"({"strategy": {"tp": 8}, "cluster": "hgx-h200", "model": ")" + model +
                              R"(", "serving": {"products": "fp8"}, "kernels": )" + kernels + "}",
                          "s.json")
        .kernels.amax;
  };
  EXPECT_EQ(of_preset("deepseek-v3", "{}"), Fusion::kBlocks);
  EXPECT_EQ(of_preset("deepseek-v3", R"({"amax": "fused"})"), Fusion::kFused);
  EXPECT_EQ(of_preset("mixtral-8x7b", "{}"), Fusion::kFused);
}

TEST(Checkpoint, IsWidenedByProductsThatADeviceDoesNotHave) {
  const ServingPrecision p = served(kFp8, "{}", "dgx-a100");
  EXPECT_FALSE(p.products);
  EXPECT_EQ(p.weights, WeightFormat::kFp8);
  EXPECT_EQ(p.experts, WeightFormat::kFp8);
}

TEST(Checkpoint, GivesWayToWhatTheScenarioSays) {
  for (const char* key : {"weights", "expert_weights", "products", "expert_products"}) {
    const ServingPrecision p = served(kFp8, std::string("{\"") + key + R"(": "plain"})");
    EXPECT_FALSE(p.products || p.expert_products) << key;
  }
}

TEST(Checkpoint, OfAnotherFormatIsToldToBeIgnored) {
  const std::string task = R"("strategy": {"tp": 8}, "serving": {})";
  EXPECT_EQ(warnings_of(scenario_of(kFp8, task)).find("quantization_config"), std::string::npos);
  const std::string told = warnings_of(scenario_of(R"({"quant_method": "hqq"})", task));
  EXPECT_NE(told.find("W002: model.hf_config: ignored quantization_config, whose quant_method "
                      "\"hqq\""),
            std::string::npos)
      << told;
  const std::string trained = R"("workload": {"sequence_length": 64, "global_batch": 8})";
  EXPECT_NE(warnings_of(scenario_of(kFp8, trained)).find("ignored quantization_config"),
            std::string::npos);
}

TEST(Checkpoint, SaysHowKeysAndValuesAreKept) {
  const std::string scheme = R"(, "kv_cache_scheme": {"num_bits": 8, "type": "float"}})";
  const std::string modelopt = R"({"quant_method": "modelopt", "quant_algo": "FP8")";
  EXPECT_EQ(served(modelopt + scheme).kv_cache, DType::kFp8);
  EXPECT_EQ(served(modelopt + R"(, "kv_cache_quant_algo": "FP8"})").kv_cache, DType::kFp8);
  EXPECT_EQ(served(modelopt + scheme, R"({"kv_cache": "bf16"})").kv_cache, DType::kBf16);
  EXPECT_EQ(served(modelopt + "}").kv_cache, DType::kBf16);
  EXPECT_EQ(served(R"({"quant_method": "fp8")" + scheme).kv_cache, DType::kBf16);
}

}  // namespace plait::checkpoint_test
