// What a checkpoint's config.json says of how its weights are quantised.
#include <gtest/gtest.h>

#include "model/hf_config.h"

namespace plait::hf_quantization_test {

TEST(HfQuantizations, QuantizationSaysItsMethodAndItsBits) {
  const auto of = [](const std::string& quantization) {
    const ImportedModel got = import_hf_config(
        R"({"model_type": "llama", "quantization_config": )" + quantization + "}", "config.json");
    EXPECT_TRUE(got.ignored_keys.empty());
    return got.quantization.value_or(HfQuantization{});
  };
  const HfQuantization eight = of(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})");
  EXPECT_EQ(eight.method, "fp8");
  EXPECT_EQ(eight.bits, 0);
  EXPECT_EQ(of(R"({"quant_method": "awq", "bits": 4, "group_size": 128})").bits, 4);
  EXPECT_EQ(of(R"({"quant_method": "bitsandbytes", "load_in_8bit": true})").bits, 8);
  EXPECT_EQ(of(R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})").algorithm, "NVFP4");
  const HfQuantization packed = of(R"({"quant_method": "compressed-tensors",
      "format": "pack-quantized", "config_groups": {"group_0": {"weights": {"num_bits": 4}}}})");
  EXPECT_EQ(packed.bits, 4);
  EXPECT_EQ(packed.algorithm, "pack-quantized");
  EXPECT_FALSE(import_hf_config(R"({"model_type": "llama"})", "config.json").quantization);
}

TEST(HfQuantizations, TheCacheMayHaveOne) {
  const auto narrow = [](const std::string& quantization) {
    return import_hf_config(
               R"({"model_type": "llama", "quantization_config": )" + quantization + "}",
               "config.json")
        .quantization->fp8_cache;
  };
  const std::string packed = R"({"quant_method": "compressed-tensors", "kv_cache_scheme": )";
  EXPECT_TRUE(narrow(packed + R"({"num_bits": 8, "type": "float"}})"));
  EXPECT_FALSE(narrow(packed + R"({"num_bits": 8, "type": "int"}})"));
  EXPECT_FALSE(narrow(packed + "null}"));
}

}  // namespace plait::hf_quantization_test
