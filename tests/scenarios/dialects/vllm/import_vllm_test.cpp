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

// vllm/config/vllm.py: the host prepares a step beside the one before, but for guesses that are
// neither EAGLE's nor of the model's own modules, and where ray starts the ranks.
TEST(ImportVllm, StepsArePreparedAheadByDefault) {
  const auto ahead = [](const std::string& more, const std::string& serving = "") {
    const std::string base =
        R"({"model": "llama-3.1-8b", "cluster": "hgx-h100", "serving": {)" + serving + "}}";
    return imported(Dialect::kVllm, "vllm serve meta-llama/Llama-3.1-8B" + more, base)
        .serving->limits.async_scheduling;
  };
  EXPECT_TRUE(ahead(""));
  EXPECT_FALSE(ahead(" --no-async-scheduling"));
  EXPECT_FALSE(ahead(" --distributed-executor-backend ray"));
  EXPECT_TRUE(ahead(" --distributed-executor-backend mp"));
  EXPECT_FALSE(ahead("", R"("engine": {"async_scheduling": false})"));
  const std::string guesses =
      R"("speculative": {"method": "ngram", "num_speculative_tokens": 2, "acceptance": 0.5})";
  const auto method = [](const std::string& name) {
    return " --speculative-config '{\"method\":\"" + name + "\",\"num_speculative_tokens\":2}'";
  };
  EXPECT_TRUE(ahead(method("eagle"), guesses));
  EXPECT_FALSE(ahead(method("ngram"), guesses));
  EXPECT_TRUE(ahead(method("ngram") + " --async-scheduling", guesses));
}

TEST(ImportVllm, WhatVllmCachesAndPlaitDoesNotIsSaid) {
  const auto said = [](const std::string& line) {
    return warnings(Dialect::kVllm, "vllm serve " + line);
  };
  EXPECT_EQ(said("meta-llama/Llama-3.1-8B"), "");
  EXPECT_NE(said("openai/gpt-oss-20b").find("W008: vLLM caches prefixes of gpt-oss-20b too, by"),
            std::string::npos);
  EXPECT_NE(said("google/gemma-3-27b-it --enable-prefix-caching").find("W008: vLLM caches"),
            std::string::npos);
  EXPECT_EQ(said("openai/gpt-oss-20b --no-enable-prefix-caching"), "");
  const char* const base = R"({"model": "llama-3.1-8b", "cluster": "hgx-h100", "serving": {}})";
  EXPECT_FALSE(
      imported(Dialect::kVllm, "vllm serve openai/gpt-oss-20b --enable-prefix-caching", base)
          .serving->limits.prefix_caching);
}

TEST(ImportVllm, VariablesOfTheEnvironmentAreSaidNotToBeRead) {
  const std::string line = "vllm serve Qwen/Qwen3-8B\n";
  EXPECT_EQ(warnings(Dialect::kVllm, "VLLM_ALL2ALL_BACKEND=deepep_low_latency " + line),
            "W007: not read: VLLM_ALL2ALL_BACKEND\n");
  EXPECT_EQ(warnings(Dialect::kVllm, "export VLLM_A=1\ndocker run -e VLLM_B=2 x " + line),
            "W007: not read: VLLM_A, VLLM_B\n");
  EXPECT_EQ(warnings(Dialect::kVllm, "# VLLM_A=1\n" + line), "");
}

// With the module of the release, which the preset leaves out.
TEST(ImportVllm, AReleaseGuessesByItsOwnModule) {
  const char* const base = R"({"cluster": "hgx-h200", "serving": {"speculative": {
    "method": "ngram", "num_speculative_tokens": 1, "acceptance": 0.85}}})";
  const auto modules = [&](const std::string& model, const std::string& method) {
    const Scenario s =
        imported(Dialect::kVllm,
                 "vllm serve " + model + " -tp 8 --speculative-config '{\"method\": \"" + method +
                     "\", \"num_speculative_tokens\": 1}'",
                 base);
    const std::string again =
        render(settings_of(s, Dialect::kVllm, Launcher::kNone), Launcher::kNone);
    EXPECT_NE(again.find("vllm serve " + model), std::string::npos) << again;
    return s.model.mtp_layers;
  };
  EXPECT_EQ(modules("deepseek-ai/DeepSeek-V3", "deepseek_mtp"), 1);
  EXPECT_EQ(modules("zai-org/GLM-4.5", "mtp"), 1);
  EXPECT_EQ(modules("deepseek-ai/DeepSeek-V3", "ngram"), 0);
}

// get_batch_defaults: H100s have 80 GB, L40S 48; A100s do not count as large.
TEST(ImportVllm, SizesOfAStepFollowTheDevice) {
  const auto limits = [](const std::string& cluster, const std::string& options) {
    return imported(Dialect::kVllm, "vllm serve meta-llama/Llama-3.1-8B " + options,
                    R"({"cluster": ")" + cluster + R"(", "serving": {}})")
        .serving->limits;
  };
  EXPECT_EQ(limits("hgx-h100", "").max_tokens, 8192);
  EXPECT_EQ(limits("hgx-h100", "").max_sequences, 1024);
  EXPECT_EQ(limits("dgx-a100", "").max_tokens, 2048);
  EXPECT_EQ(limits("dgx-a100", "").max_sequences, 256);
  EXPECT_EQ(limits("dgx-a100", "--max-num-batched-tokens 4096 --max-num-seqs 8").max_tokens, 4096);
  EXPECT_EQ(limits("hgx-h100", "--max-num-batched-tokens 512").max_sequences, 512);
  const std::string whole = "--no-enable-chunked-prefill --max-model-len ";
  EXPECT_EQ(limits("hgx-h100", whole + "32768").max_tokens, 32768);
  EXPECT_EQ(limits("hgx-h100", whole + "4096").max_tokens, 8192);
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
  EXPECT_EQ(s.serving->limits.max_context, 4096);
  EXPECT_FALSE(s.serving->limits.chunked_prefill);
  EXPECT_EQ(s.serving->limits.max_sequences, 77);  // vLLM's depends on the device
  EXPECT_EQ(s.strategy.mesh[Axis::kDp], 1);
  EXPECT_TRUE(s.warnings.empty());
}

TEST(ImportVllm, WhatLaunchesTakeIsForTheBaseToSay) {
  const std::string line = "vllm serve meta-llama/Llama-3.1-8B";
  EXPECT_EQ(warnings(Dialect::kVllm, line).find("host.launch_time"), std::string::npos);
  EXPECT_NE(warnings(Dialect::kVllm, line + " --enforce-eager").find("host.launch_time"),
            std::string::npos);
}

// vLLM's data parallelism, docs/serving/data_parallel_deployment: experts are divided over all
// ranks or dealt to them, and never held by each replica.
TEST(ImportVllm, ReplicasShareExperts) {
  const auto read = [](const std::string& more) {
    const Scenario s = imported(Dialect::kVllm, "vllm serve x " + more, kServes);
    return std::pair(s.serving->expert_parallel, s.serving->divide_experts);
  };
  EXPECT_EQ(read("-dp 2"), std::pair(false, true));
  EXPECT_EQ(read("-dp 2 --enable-expert-parallel"), std::pair(true, false));
  EXPECT_EQ(read("-tp 2"), std::pair(false, false));
}

// What the base says holds until the command says otherwise.
TEST(ImportVllm, AnAbsentOptionChangesNothingThatTheBaseSays) {
  const auto read = [](const std::string& options, const char* base = kServes) {
    return *imported(Dialect::kVllm, "vllm serve x --tensor-parallel-size 4 " + options, base)
                .serving;
  };
  EXPECT_EQ(read("--dtype half").precision.kv_cache, DType::kFp8);
  EXPECT_EQ(read("--dtype half --kv-cache-dtype auto").precision.kv_cache, DType::kFp16);
  EXPECT_FALSE(read("").limits.graphs);
  EXPECT_TRUE(read("--no-enforce-eager").limits.graphs);
  const char* const narrow = R"({"model": "llama-3.1-8b", "cluster": "hgx-h100",
    "serving": {"products": "fp8", "engine": {"chunked_prefill": false}}})";
  EXPECT_EQ(read("", narrow).precision.products, DType::kFp8);
  EXPECT_FALSE(read("", narrow).limits.chunked_prefill);
  EXPECT_TRUE(read("--enable-chunked-prefill", narrow).limits.chunked_prefill);
  EXPECT_EQ(read("--quantization awq", narrow).precision.products, std::nullopt);
  const Scenario whole = imported(Dialect::kVllm, "vllm serve x", R"({"model": "llama-3.1-8b",
    "cluster": "hgx-h100", "serving": {}, "strategy": {"tp": 2}})");
  EXPECT_EQ(whole.strategy.mesh[Axis::kTp], 2);
}

TEST(ImportVllm, CheckpointsThatAreQuantisedAreReadSo) {
  const auto read = [](const std::string& line) {
    return imported(Dialect::kVllm, "vllm serve " + line,
                    R"({"cluster": "hgx-h100", "serving": {}})")
        .serving->precision;
  };
  EXPECT_EQ(read("deepseek-ai/DeepSeek-R1-0528 -tp 8").products, DType::kFp8);
  EXPECT_EQ(read("deepseek-ai/DeepSeek-R1-Distill-Llama-8B").products, std::nullopt);
  const ServingPrecision oss = read("openai/gpt-oss-20b");
  EXPECT_EQ(oss.experts, WeightFormat::kMxfp4);
  EXPECT_EQ(oss.weights, WeightFormat::kPlain);
  EXPECT_EQ(read("Qwen/Qwen2.5-72B-Instruct-AWQ -q awq_marlin").weights, WeightFormat::kInt4);
  EXPECT_EQ(read("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8 -q gptq").weights, WeightFormat::kInt8);
  EXPECT_EQ(read("meta-llama/Llama-3.1-8B -q gptq_marlin").weights, WeightFormat::kInt4);
  EXPECT_EQ(read("nvidia/Llama-3.3-70B-Instruct-FP4 -q modelopt").weights, WeightFormat::kNvfp4);
  EXPECT_EQ(read("meta-llama/Llama-3.1-8B -q fp8").products, DType::kFp8) << "as it is loaded";
  EXPECT_EQ(
      warnings(Dialect::kVllm, "vllm serve RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8"),
      "W008: weights in w8a8 have products of 8-bit integers, which are predicted in the type "
      "of activations\n");
}

// 29,568 columns of the MLP are 231 groups of 128, which 2 devices do not share evenly.
TEST(ImportVllm, ModelsThatArePaddedForTheirGroupsAreReadSo) {
  const auto width = [](const std::string& model) {
    return imported(Dialect::kVllm, "vllm serve " + model, R"({"cluster": "hgx-h100"})")
        .model.ffn_hidden;
  };
  EXPECT_EQ(width("Qwen/Qwen2.5-72B-Instruct-AWQ"), 29696);
  EXPECT_EQ(width("Qwen/Qwen2.5-72B-Instruct"), 29568);
}

// vllm/config/model.py: a method that is not the checkpoint's is refused.
TEST(ImportVllm, AMethodIsTheCheckpoints) {
  const auto refused = [](const std::string& line) {
    return refusal(Dialect::kVllm, "vllm serve " + line, kServes);
  };
  EXPECT_EQ(refused("Qwen/Qwen2.5-72B-Instruct-AWQ -q fp8"), "D004 line 1");
  EXPECT_EQ(refused("Qwen/Qwen3-8B-FP8 \\\n -q awq"), "D004 line 2");
  EXPECT_EQ(refused("x -q torchao"), "D006 line 1");
  EXPECT_NE(warnings(Dialect::kVllm, "vllm serve x -q compressed-tensors")
                .find("W007: not read: --quantization compressed-tensors"),
            std::string::npos);
}

TEST(ImportVllm, WeightsInFp8AreWidenedWhereTheDeviceHasNoSuchProducts) {
  const ServingPrecision p =
      imported(Dialect::kVllm, "vllm serve Qwen/Qwen3-8B-FP8", R"({"cluster": "dgx-a100"})")
          .serving->precision;
  EXPECT_EQ(p.products, std::nullopt);
  EXPECT_EQ(p.weights, WeightFormat::kFp8);
}

TEST(ImportVllm, WeightsInFourBitsAreMultipliedAsTheyAreWhereTheDeviceDoes) {
  const auto read = [](const char* model, const char* cluster) {
    return imported(Dialect::kVllm, std::string("vllm serve nvidia/") + model + " -tp 8",
                    std::string(R"({"cluster": ")") + cluster + R"("})")
        .serving->precision;
  };
  const ServingPrecision dense = read("Llama-3.3-70B-Instruct-NVFP4", "hgx-b200");
  EXPECT_EQ(dense.products, DType::kNvfp4);
  EXPECT_EQ(dense.weights, WeightFormat::kPlain);
  const ServingPrecision experts = read("DeepSeek-R1-0528-FP4", "hgx-b200");
  EXPECT_EQ(experts.products, std::nullopt) << "attention stays as it was";
  EXPECT_EQ(experts.expert_products, DType::kNvfp4);
  const ServingPrecision widened = read("DeepSeek-R1-0528-FP4", "hgx-h200");
  EXPECT_EQ(widened.expert_products, std::nullopt);
  EXPECT_EQ(widened.experts, WeightFormat::kNvfp4);
  EXPECT_EQ(widened.weights, WeightFormat::kPlain);
}

// vLLM's default is the model's own maximum.
TEST(ImportVllm, WithoutALengthSequencesAreAsLongAsPositionsGo) {
  const auto length = [](const std::string& line) {
    return imported(Dialect::kVllm, "vllm serve " + line, R"({"cluster": "hgx-h100"})")
        .serving->limits.max_context;
  };
  EXPECT_EQ(length("meta-llama/Llama-3.1-8B"), 131072);
  EXPECT_EQ(length("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8"), 262144);
  EXPECT_EQ(length("meta-llama/Llama-3.1-8B --max-model-len 4096"), 4096);
  EXPECT_LT(length("meta-llama/Llama-3.1-8B --max-model-len auto"), 4096) << "what is asked for";
  EXPECT_EQ(imported(Dialect::kVllm, "vllm serve Qwen/Qwen3-8B --num-gpu-blocks-override 100",
                     R"({"cluster": "hgx-h100"})")
                .serving->limits.cache_tokens,
            1600);
}

TEST(ImportVllm, AModelThatIsNoPresetIsSaidToBeNone) {
  try {
    imported(Dialect::kVllm, "vllm serve Qwen/Qwen2-7B-Instruct", R"({"cluster": "hgx-h100"})");
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().problem, "the model Qwen/Qwen2-7B-Instruct is no preset");
    EXPECT_NE(e.text().cure.find("hf_config"), std::string::npos);
    EXPECT_NE(e.text().cure.find("qwen-2.5-7b"), std::string::npos);
    EXPECT_EQ(e.text().cure.find("llama"), std::string::npos);
  }
}

TEST(ImportVllm, ShortOptionsMeanWhatLongOnesDo) {
  const Scenario s = imported(
      Dialect::kVllm, "python -m vllm.entrypoints.openai.api_server -tp 2 -pp=2 -dp 2 -q fp8 -O3",
      kServes);
  EXPECT_EQ(s.strategy.mesh[Axis::kTp], 2);
  EXPECT_EQ(s.strategy.mesh[Axis::kPp], 2);
  EXPECT_EQ(s.strategy.mesh[Axis::kDp], 2);
  EXPECT_EQ(s.serving->precision.products, DType::kFp8);
  EXPECT_EQ(warnings(Dialect::kVllm, "vllm serve x -tp 2 -O3 -cc '{}'"),
            "W007: not read: the model x, which is no preset\n"
            "W008: without --max-model-len a sequence may be as long as the model has positions: "
            "here the longest request has room, unless the base says more\n"
            "W007: not read: -O3, -cc\n");
  EXPECT_EQ(imported(Dialect::kVllm, "vllm serve x -tp 2 --tensor-parallel-size 4", kServes)
                .strategy.mesh[Axis::kTp],
            4);
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
  Warnings said;
  scenario_json(read_settings("vllm serve x -tp 4", "run.sh", Dialect::kVllm), "run.sh",
                {kServes, "base.json"}, "", &said);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(printed(said[0]),
            "W008: of the machine's 8 devices it takes 4: nodes = 1, devices_per_node = 4");
}

TEST(ImportVllm, SettingsOfServingAreRefusedOverABaseThatTrains) {
  const std::string line = "vllm serve x --tensor-parallel-size 8\\\n --enable-expert-parallel";
  EXPECT_EQ(refusal(Dialect::kVllm, line), "D008 line 2");
}

// vllm/utils: FlexibleArgumentParser makes an object of the keys.
TEST(ImportVllm, SpeculationIsSaidAsAnObjectOrKeyByKey) {
  const auto given = [](const std::string& more) {
    std::string out;
    for (const Given& g : read_settings("vllm serve x\n" + more, "run.sh", Dialect::kVllm).given) {
      if (g.path.starts_with("serving.speculative")) out += g.value + "@" + std::to_string(g.line);
    }
    return out;
  };
  const std::string expected = "\"mtp\"@21@2";
  EXPECT_EQ(given(R"(--speculative-config '{"method": "mtp", "num_speculative_tokens": 1}')"),
            expected);
  EXPECT_EQ(given("--speculative-config.method mtp --speculative-config.num_speculative_tokens 1"),
            expected);
  EXPECT_EQ(given(""), "");
}

TEST(ImportVllm, WhatIsWrongWithSpeculationIsSaidOfItsLine) {
  const auto refused = [](const std::string& config) {
    return refusal(Dialect::kVllm, "vllm serve llama-3.1-8b\n--speculative-config " + config);
  };
  EXPECT_EQ(refused("'{'"), "J005 line 2");
  EXPECT_EQ(refused("'[]'"), "D003 line 2");
  EXPECT_EQ(refused(R"('{"method": "mtp", "num_speculative_tokens": "1"}')"), "D003 line 2");
  EXPECT_EQ(refused(R"('{"method": "other"}')"), "D006 line 2");
}

TEST(ImportVllm, ASwitchHasNoValue) {
  for (const char* option :
       {"--enforce-eager=false", "--enforce-eager False", "--enable-prefix-caching=true"}) {
    EXPECT_EQ(refusal(Dialect::kVllm, std::string("vllm serve llama-3.1-8b\n") + option),
              "D003 line 2")
        << option;
  }
}

}  // namespace plait::import_test
