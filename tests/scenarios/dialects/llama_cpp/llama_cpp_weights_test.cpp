// Which model llama.cpp loads, in which format, and which of its tensors stay in host memory.
#include <gtest/gtest.h>

#include "scenarios/dialects/llama_cpp/gguf_names.h"
#include "tests/scenarios/dialects/imported.h"

namespace plait::import_test::of_weights {

Scenario read(const std::string& line) {
  return imported(Dialect::kLlamaCpp, "llama-server -c 4096 " + line,
                  R"({"model": "llama-3.1-8b", "cluster": {"preset": "rtx-4090-8",
                      "devices_per_node": 1}, "serving": {}})");
}
std::string told(const std::string& line) {
  return warnings(Dialect::kLlamaCpp, "llama-server -c 4096 " + line);
}

TEST(GgufNames, SayModelsAndFormats) {
  const auto expect = [](const char* path, const char* preset, const char* weights,
                         const char* head) {
    const llama_cpp::GgufName name = llama_cpp::gguf_name(path);
    EXPECT_EQ(name.preset, preset) << path;
    EXPECT_EQ(name.weights, weights) << path;
    EXPECT_EQ(name.head, head) << path;
  };
  expect("models/Llama-2-7B.Q4_0.gguf", "llama-2-7b", "q4_0", "q6_k");
  expect("bartowski/Llama-3.1-8B-GGUF:Q8_0", "llama-3.1-8b", "q8_0", "q8_0");
  expect("llama-2-13b-Q5_K_M.gguf", "llama-2-13b", "q5_k_m", "q6_k");
  expect("llama-2-13b-Q4_K_M.gguf", "llama-2-13b", "q4_k_m", "q6_k");
  expect("llama-2-13b-Q4_K_S.gguf", "llama-2-13b", "q4_k", "q6_k");
  expect("Llama-2-7b-hf-F16.gguf", "llama-2-7b", "plain", "plain");
  expect("Llama-2-7B-IQ4_XS.gguf", "llama-2-7b", "iq4_xs", "q6_k");
  expect("Llama-2-7B-IQ2_XXS.gguf", "llama-2-7b", "iq2_xxs", "q5_k");
  expect("llama-3.1-8b.gguf", "llama-3.1-8b", "", "");
  expect("qwen.gguf", "", "", "");
}

TEST(GgufNames, SayThemWhereverTheyStand) {
  const auto expect = [](const char* path, const char* preset, const char* encoding) {
    const llama_cpp::GgufName name = llama_cpp::gguf_name(path);
    EXPECT_EQ(name.preset, preset) << path;
    EXPECT_EQ(name.encoding, encoding) << path;
  };
  expect("Qwen3-30B-A3B-Instruct-2507-UD-Q4_K_XL.gguf", "qwen3-30b-a3b", "q4_k_xl");
  expect("unsloth/Qwen3-30B-A3B-GGUF:UD-Q4_K_XL", "qwen3-30b-a3b", "q4_k_xl");
  expect("DeepSeek-R1-UD-IQ1_S-00001-of-00003.gguf", "deepseek-r1", "iq1_s");
  expect("gemma-3-12b-it-qat-q4_0-gguf", "gemma-3-12b", "q4_0");
  expect("gemma-3-12b-it-qat-q4_0.gguf", "gemma-3-12b", "q4_0");
  expect("Meta-Llama-3-8B-Instruct-Q4_K_M.gguf", "llama-3-8b", "q4_k_m");
  expect("meta-llama_Llama-3.3-70B-Instruct-IQ3_M.gguf", "llama-3.3-70b", "iq3_m");
  expect("Llama-2-7B.i1-Q5_1.gguf", "llama-2-7b", "q5_1");
}

// Whatever the name says the rest is in.
TEST(GgufNames, OfGptOssHaveExpertsInMxfp4) {
  for (const char* name : {"gpt-oss-20b-F16.gguf", "gpt-oss-20b-Q4_K_M.gguf", "gpt-oss-20b.gguf",
                           "gpt-oss-120b-mxfp4-00001-of-00003.gguf"}) {
    EXPECT_EQ(llama_cpp::gguf_name(name).experts, "mxfp4") << name;
  }
  EXPECT_EQ(llama_cpp::gguf_name("gpt-oss-20b-F16.gguf").weights, "plain");
  EXPECT_EQ(llama_cpp::gguf_name("gpt-oss-20b.gguf").weights, "q8_0");
}

// 2,880 and 896 are no multiples of 256 (llama.cpp's src/llama-quant.cpp).
TEST(GgufNames, OfModelsWhoseRowsHaveNoWholeSuperBlocksHaveOtherTypes) {
  EXPECT_EQ(llama_cpp::gguf_name("gpt-oss-20b-Q4_K_M.gguf").weights, "q5_0");
  EXPECT_EQ(llama_cpp::gguf_name("gpt-oss-20b-Q4_K_M.gguf").head, "q8_0");
  EXPECT_EQ(llama_cpp::gguf_name("Qwen2.5-0.5B-IQ3_M.gguf").weights, "iq4_nl");
  EXPECT_EQ(llama_cpp::gguf_name("Qwen2.5-0.5B-Q8_0.gguf").weights, "q8_0");
}

TEST(ImportLlamaCppWeights, FilesSayThem) {
  const Scenario s = read("-m models/Llama-2-7B.Q4_0.gguf");
  EXPECT_EQ(s.model.name, "llama-2-7b");
  EXPECT_EQ(s.serving->precision.weights, WeightFormat::kQ4_0);
  EXPECT_EQ(s.serving->precision.head, WeightFormat::kQ6K);
  EXPECT_EQ(read("-m Llama-2-7B-f16.gguf").serving->precision.activations, DType::kFp16);
  const Scenario url = read("--model-url https://huggingface.co/a/b/Llama-2-7B-Q8_0.gguf?x=y");
  EXPECT_EQ(url.model.name, "llama-2-7b");
  EXPECT_EQ(url.serving->precision.weights, WeightFormat::kQ8_0);
  EXPECT_EQ(read("-m Qwen3-30B-A3B-Instruct-2507-Q4_0.gguf").model.max_positions, 262144);
}

// tools/server/README.md: Q4_K_M where --hf-repo names none, and --hf-file goes first.
TEST(ImportLlamaCppWeights, RepositoriesHaveAFormatByDefault) {
  EXPECT_EQ(read("-hf bartowski/Llama-2-7B-GGUF").serving->precision.weights, WeightFormat::kQ4KM);
  EXPECT_EQ(read("-hf bartowski/Llama-2-7B-GGUF:Q8_0").serving->precision.weights,
            WeightFormat::kQ8_0);
  const Scenario file = read("-hf a/Llama-2-7B-GGUF:Q8_0 -hff x-Q5_0.gguf");
  EXPECT_EQ(file.model.name, "llama-2-7b");
  EXPECT_EQ(file.serving->precision.weights, WeightFormat::kQ5_0);
  EXPECT_NE(told("-hf a/Llama-2-7B-GGUF").find("names no quantisation"), std::string::npos);
  EXPECT_NE(told("-m Llama-2-7B.gguf").find("W007: not read: how weights are quantised"),
            std::string::npos);
}

// Of 48 layers, all with experts.
TEST(ImportLlamaCppWeights, PatternsThatMoveExpertsAreCounted) {
  const auto layers = [](const std::string& options) {
    return read("-m Qwen3-30B-A3B-Q4_0.gguf " + options).serving->layers.host_experts;
  };
  for (const char* all : {"exps=CPU", "'.ffn_.*_exps.=CPU'", R"('\.ffn_(up|down|gate)_exps\.=CPU')",
                          R"('blk\..*exps=CPU')"}) {
    EXPECT_EQ(layers("-ot " + std::string(all)), 48) << all;
  }
  EXPECT_EQ(layers(R"(-ot 'blk\.[0-9]\.ffn_.*_exps.*=CPU')"), 10);
  EXPECT_EQ(layers(R"(-ot 'blk\.(2[0-9]|3[0-9])\.ffn_.*_exps=CPU')"), 20);
  EXPECT_EQ(layers(R"(-ot 'blk\.0\..*exps=CPU' -ot 'blk\.1\..*exps=CPU')"), 2);
  EXPECT_EQ(layers(R"(-ot 'ffn_up_exps=CPU')"), 16) << "a third of each";
  EXPECT_EQ(layers(R"(-ot 'blk\.[0-9]\.=CUDA0,exps=CPU')"), 38) << "the first pattern counts";
  EXPECT_EQ(layers("-ngl 99 -ot attn=CPU"), 0);
}

// common/fit.cpp: experts leave the devices before whole layers do.
TEST(ImportLlamaCppWeights, WhatFitsIsFoundForExpertsFirst) {
  const auto experts = [](const std::string& options) {
    return read(options).serving->layers.host_experts;
  };
  EXPECT_EQ(experts("-m Qwen3-30B-A3B-Q4_0.gguf"), -1);
  EXPECT_EQ(experts("-m Qwen3-30B-A3B-Q4_0.gguf -ngl 99"), 0);
  EXPECT_EQ(experts("-m Qwen3-30B-A3B-Q4_0.gguf --fit off"), 0);
  EXPECT_EQ(experts("-m Llama-2-7B.Q4_0.gguf"), 0);
}

TEST(ImportLlamaCppWeights, WhatPatternsMoveBesidesIsSaid) {
  const auto has = [](const std::string& options, const char* part) {
    return told("-m Qwen3-30B-A3B-Q4_0.gguf " + options).find(part) != std::string::npos;
  };
  EXPECT_FALSE(has("-ot exps=CPU", "override"));
  EXPECT_TRUE(has("-ot attn_q=CPU", "moves attn_q to host memory"));
  EXPECT_TRUE(has("-ot 'blk.1.=CUDA1'", "W007: not read: --override-tensor blk.1.=CUDA1"));
  EXPECT_TRUE(has(R"(-ot 'blk\.(2[0-9])\..*exps=CPU')", "those of the first 10 layers"));
  EXPECT_EQ(refusal(Dialect::kLlamaCpp, "llama-server -ot '(exps=CPU'"), "D003 line 1");
  EXPECT_EQ(refusal(Dialect::kLlamaCpp, "llama-server -ot exps"), "D003 line 1");
}

}  // namespace plait::import_test::of_weights
