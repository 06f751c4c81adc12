// What vLLM does not start with, in a command and in a scenario.

#include "tests/scenarios/dialects/imported.h"

namespace plait::vllm_limits_test {

using import_test::imported;
using import_test::refusal;

// vllm/config: SchedulerConfig and verify_with_parallel_config.
TEST(VllmLimits, WhatVllmDoesNotStartWithIsRefused) {
  const auto told = [](const std::string& options) {
    return refusal(Dialect::kVllm, "vllm serve meta-llama/Llama-3.1-8B\n" + options,
                   R"({"cluster": "hgx-h100", "serving": {}})");
  };
  EXPECT_EQ(told("--max-num-batched-tokens 64 --max-num-seqs 128"), "D004 line 2");
  EXPECT_EQ(told("--max-num-batched-tokens 128 --max-num-seqs 128"), "accepted");
  const std::string whole = "--max-num-batched-tokens 1024 --no-enable-chunked-prefill ";
  EXPECT_EQ(told(whole + "--max-model-len 8k --max-num-seqs 8"), "D004 line 2");
  EXPECT_EQ(told(whole + "--max-model-len 1k --max-num-seqs 8"), "accepted");
  EXPECT_EQ(told("--tensor-parallel-size 3"), "D004 line 2");
}

// --dtype auto of a model in bf16 is fp16 below compute capability 8.0.
TEST(VllmLimits, DevicesWithoutBf16ServeInFp16) {
  const auto types = [](const std::string& options, const std::string& cluster) {
    const Scenario s = imported(Dialect::kVllm, "vllm serve meta-llama/Llama-3.1-8B" + options,
                                R"({"cluster": ")" + cluster + R"(", "serving": {}})");
    const ServingPrecision& p = s.serving->precision;
    return std::string(name_of(p.activations)) + " " + std::string(name_of(p.kv_cache));
  };
  EXPECT_EQ(types("", "dgx-v100"), "fp16 fp16");
  EXPECT_EQ(types(" --dtype auto", "dgx-v100"), "fp16 fp16");
  EXPECT_EQ(types("", "dgx-a100"), "bf16 bf16");
  EXPECT_EQ(types(" --dtype float32", "dgx-v100"), "fp32 fp32");
}

TEST(VllmLimits, Bf16OnGpusThatHaveNoneIsWarnedAboutAndNotExported) {
  const auto served = [](const std::string& cluster) {
    return parse_scenario(R"({"model": "llama-3.1-8b", "serving": {"dtype": "bf16"},
                              "strategy": {"tp": 8}, "cluster": ")" +
                              cluster + R"("})",
                          "s.json");
  };
  const Scenario s = served("dgx-v100");
  EXPECT_EQ(std::ranges::count_if(s.warnings, [](const Warning& w) { return w.code == "W014"; }),
            1);
  EXPECT_TRUE(served("dgx-a100").warnings.empty());
  try {
    settings_of(s, Dialect::kVllm, Launcher::kNone);
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code + " " + e.text().where.path, "D011 serving.dtype");
  }
}

TEST(VllmLimits, WhatVllmDoesNotStartWithIsNotExported) {
  const auto told = [](const std::string& serving) {
    const Scenario s = parse_scenario(R"({"model": "llama-3.1-8b", "strategy": {"tp": 8},
                                          "cluster": "hgx-h100", "serving": )" +
                                          serving + "}",
                                      "s.json");
    try {
      const Settings settings = settings_of(s, Dialect::kVllm, Launcher::kNone);
      const auto type = std::ranges::find(settings.settings, "--kv-cache-dtype", &Setting::key);
      return type->value;
    } catch (const InputError& e) {
      return e.text().code + " " + e.text().where.path;
    }
  };
  // vllm/v1/core/kv_cache_utils.py: a cache without room for the longest sequence.
  const std::string limits = R"({"engine": {"max_model_len": 16384, "kv_cache_tokens": )";
  EXPECT_EQ(told(limits + "5008}}"), "D011 serving.engine.kv_cache_tokens");
  EXPECT_EQ(told(limits + "16384}}"), "auto");
  // vllm/config/cache.py, CacheDType: no fp32 beside other types.
  EXPECT_EQ(told(R"({"kv_cache": "fp32"})"), "D011 serving.kv_cache");
  EXPECT_EQ(told(R"({"kv_cache": "fp32", "dtype": "fp32"})"), "auto");
  EXPECT_EQ(told(R"({"kv_cache": "fp16"})"), "float16");
  EXPECT_EQ(told(R"({"kv_cache": "fp8"})"), "fp8");
}

// A scenario's own requests, 1024 and 128 tokens, have no room.
TEST(VllmLimits, RequestsFitAShortContext) {
  const Imported read = read_settings("vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 512",
                                      "run.sh", Dialect::kVllm);
  const auto kinds = std::ranges::find(read.given, "serving.requests.kinds", &Given::path);
  ASSERT_NE(kinds, read.given.end());
  EXPECT_EQ(kinds->value, R"([{"prompt_tokens": 456, "output_tokens": 56}])");
  EXPECT_TRUE(kinds->by_default);
  const Imported wide = read_settings("vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 4096",
                                      "run.sh", Dialect::kVllm);
  EXPECT_EQ(std::ranges::count(wide.given, "serving.requests.kinds", &Given::path), 0);
}

}  // namespace plait::vllm_limits_test
