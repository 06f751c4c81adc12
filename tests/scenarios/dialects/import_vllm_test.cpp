// Command lines of `vllm serve` as people write them.
#include <gtest/gtest.h>

#include "tests/scenarios/dialects/imported.h"

namespace plait::import_test {

TEST(ImportVllm, KnowsPresetsByTheirNamesOnTheHub) {
  const std::string line =
      "vllm serve meta-llama/Llama-3.1-70B --tensor-parallel-size=8 --swap-space 4";
  const Scenario s = imported(Dialect::kVllm, line);
  EXPECT_EQ(s.model.name, "llama-3.1-70b");
  EXPECT_EQ(s.strategy.mesh[Axis::kTp], 8);
  EXPECT_EQ(warnings(Dialect::kVllm, line), "W007: not read: --swap-space\n");
}

// vLLM caches prefixes unless told otherwise; of a model with windows that is not described.
TEST(ImportVllm, PrefixesAreCachedByDefault) {
  const char* const base = R"({"model": "llama-3.1-8b", "cluster": "hgx-h100", "serving": {}})";
  const auto caches = [&](const std::string& line) {
    return imported(Dialect::kVllm, "vllm serve " + line, base).serving->limits.prefix_caching;
  };
  EXPECT_TRUE(caches("meta-llama/Llama-3.1-70B"));
  EXPECT_FALSE(caches("meta-llama/Llama-3.1-70B --no-enable-prefix-caching"));
  EXPECT_FALSE(caches("mistralai/Mistral-7B-v0.1"));
  EXPECT_TRUE(caches("unknown --enable-prefix-caching"));
  EXPECT_EQ(refusal(Dialect::kVllm,
                    "vllm serve x --enable-prefix-caching "
                    "--no-enable-prefix-caching"),
            "D004 line 1");
}

TEST(ImportVllm, GuessesAreReadOverABaseThatSaysHowManyAreRight) {
  const char* const base = R"({"model": "llama-3.1-70b", "cluster": "hgx-h100", "serving": {
    "speculative": {"method": "ngram", "num_speculative_tokens": 2, "acceptance": 0.6}}})";
  const auto read = [&](const std::string& config) {
    return imported(Dialect::kVllm,
                    "vllm serve meta-llama/Llama-3.1-70B --tensor-parallel-size 8 "
                    "--speculative-config '" +
                        config + "'",
                    base)
        .serving->speculation;
  };
  const Speculation eagle =
      read(R"({"method": "eagle3", "model": "x", "num_speculative_tokens": 4})");
  EXPECT_EQ(eagle.method, Drafting::kEagle);
  EXPECT_EQ(eagle.tokens, 4);
  EXPECT_EQ(eagle.acceptance, 0.6);
  EXPECT_EQ(read(R"({"method": "deepseek_mtp"})").method, Drafting::kMtp);
  const Speculation small = read(R"({"model": "meta-llama/Llama-3.1-8B"})");
  EXPECT_EQ(small.method, Drafting::kDraftModel);
  EXPECT_EQ(small.draft_model, "llama-3.1-8b");
  EXPECT_EQ(refusal(Dialect::kVllm, R"(vllm serve x --speculative-config '{"method": "medusa"}')"),
            "D006 line 1");
}

constexpr const char* kServes = R"({"model": "mixtral-8x7b", "cluster": "hgx-h100",
  "serving": {"kv_cache": "fp8", "engine": {"max_num_seqs": 77, "cuda_graphs": false}}})";

TEST(ImportVllm, SettingsOfServingAreReadOverABaseThatServes) {
  const Scenario s = imported(Dialect::kVllm,
                              "vllm serve x --tensor-parallel-size 4 --enable-expert-parallel "
                              "--dtype half --max-model-len 4096 --no-enable-chunked-prefill",
                              kServes);
  ASSERT_TRUE(s.serving);
  EXPECT_TRUE(s.serving->expert_parallel);
  EXPECT_EQ(s.serving->precision.activations, DType::kFp16);
  EXPECT_EQ(s.serving->precision.kv_cache, DType::kFp16);  // auto
  EXPECT_EQ(s.serving->limits.max_context, 4096);
  EXPECT_FALSE(s.serving->limits.chunked_prefill);
  EXPECT_TRUE(s.serving->limits.graphs);           // no --enforce-eager
  EXPECT_EQ(s.serving->limits.max_sequences, 77);  // vLLM's depends on the device
  EXPECT_EQ(s.strategy.mesh[Axis::kDp], 1);
  EXPECT_TRUE(s.warnings.empty());
}

TEST(ImportVllm, ShortOptionsMeanWhatLongOnesDo) {
  const Scenario s = imported(
      Dialect::kVllm, "python -m vllm.entrypoints.openai.api_server -tp 2 -pp=2 -dp 2 -q fp8 -O3",
      kServes);
  EXPECT_EQ(s.strategy.mesh[Axis::kTp], 2);
  EXPECT_EQ(s.strategy.mesh[Axis::kPp], 2);
  EXPECT_EQ(s.strategy.mesh[Axis::kDp], 2);
  EXPECT_TRUE(s.serving->precision.fp8_products);
  EXPECT_EQ(warnings(Dialect::kVllm, "vllm serve x -tp 2 -O3 -cc '{}'"),
            "W007: not read: the model x, which is no preset\nW007: not read: -O3, -cc\n");
  EXPECT_EQ(refusal(Dialect::kVllm, "vllm serve x -tp 2 --tensor-parallel-size 4"), "D004 line 1");
}

// vllm/engine/arg_utils.py, human_readable_int.
TEST(ImportVllm, SizesMayHaveALetter) {
  const auto length = [](const std::string& n) {
    return imported(Dialect::kVllm, "vllm serve x -tp 8 --max-model-len " + n, kServes)
        .serving->limits.max_context;
  };
  EXPECT_EQ(length("32k"), 32'000);
  EXPECT_EQ(length("32K"), 32'768);
  EXPECT_EQ(length("25.6k"), 25'600);
  EXPECT_EQ(refusal(Dialect::kVllm, "vllm serve x --max-model-len 25.6K", kServes), "D003 line 1");
  EXPECT_EQ(refusal(Dialect::kVllm, "vllm serve x --max-model-len k", kServes), "D003 line 1");
}

// Without --data-parallel-size it is one replica, and takes no more devices than its ranks are.
TEST(ImportVllm, AServerTakesTheDevicesThatItCounts) {
  const auto shape = [](const std::string& options) {
    const Scenario s = imported(Dialect::kVllm, "vllm serve x " + options, kServes);
    return std::pair(s.strategy.mesh[Axis::kDp], s.cluster.world_size());
  };
  EXPECT_EQ(shape("-tp 4"), std::pair(std::int64_t{1}, std::int64_t{4}));
  EXPECT_EQ(shape("-tp 4 -dp 1"), std::pair(std::int64_t{1}, std::int64_t{4}));
  EXPECT_EQ(shape("-tp 2 -dp 4"), std::pair(std::int64_t{4}, std::int64_t{8}));
  std::vector<std::string> said;
  scenario_json(read_settings("vllm serve x -tp 4", "run.sh", Dialect::kVllm), "run.sh",
                {kServes, "base.json"}, "", &said);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0],
            "W008: of the machine's 8 devices it takes 4: nodes = 1, devices_per_node = 4");
}

TEST(ImportVllm, SettingsOfServingAreRefusedOverABaseThatTrains) {
  const std::string line = "vllm serve x --tensor-parallel-size 8\\\n --enable-expert-parallel";
  EXPECT_EQ(refusal(Dialect::kVllm, line), "D008 line 2");
  EXPECT_EQ(refusal(Dialect::kVllm, "vllm serve x --quantization awq", kServes), "D006 line 1");
}

}  // namespace plait::import_test
