// What vllm serve keeps keys and values in, and which devices it sees.

#include "tests/scenarios/dialects/imported.h"

namespace plait::vllm_types_test {

// vllm/config/cache.py, CacheDType.
TEST(ImportVllm, TheCacheHasVllmsTypes) {
  const auto kept = [](const std::string& type) {
    const std::string text = "vllm serve meta-llama/Llama-3.1-8B --kv-cache-dtype " + type;
    const Scenario s =
        import_test::imported(Dialect::kVllm, text, R"({"cluster": "hgx-h100", "serving": {}})");
    return std::string(name_of(s.serving->precision.kv_cache));
  };
  EXPECT_EQ(kept("float16"), "fp16");
  EXPECT_EQ(kept("bfloat16"), "bf16");
  for (const char* type : {"fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla"})
    EXPECT_EQ(kept(type), "fp8") << type;
  for (const char* type : {"fp16", "bf16", "fp32"}) {
    EXPECT_EQ(import_test::refusal(Dialect::kVllm,
                                   "vllm serve a/b --kv-cache-dtype " + std::string(type)),
              "D003 line 1");
  }
}

TEST(ImportVllm, WithoutAVisibleDeviceItIsRefused) {
  const auto refused = [](const std::string& text) {
    return import_test::refusal(Dialect::kVllm, text, R"({"cluster": "hgx-h100", "serving": {}})");
  };
  const std::string serve = "vllm serve meta-llama/Llama-3.1-8B";
  for (const char* none : {"\"\"", "''", "", "-1", "-1,0"})
    EXPECT_EQ(refused("CUDA_VISIBLE_DEVICES=" + std::string(none) + " " + serve), "D006 line 1");
  EXPECT_EQ(refused("export CUDA_VISIBLE_DEVICES=\n" + serve), "D006 line 1");
  EXPECT_EQ(refused("CUDA_VISIBLE_DEVICES=0 " + serve), "accepted");
  EXPECT_EQ(refused("CUDA_VISIBLE_DEVICES=$1 " + serve), "accepted");
  EXPECT_EQ(refused("CUDA_VISIBLE_DEVICES= python prepare.py\n" + serve), "accepted");
}

}  // namespace plait::vllm_types_test
