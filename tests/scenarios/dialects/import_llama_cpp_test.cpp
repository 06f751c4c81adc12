// Command lines of llama.cpp as people write them.
#include <gtest/gtest.h>

#include "scenarios/dialects/gguf_names.h"
#include "tests/scenarios/dialects/imported.h"

namespace plait::import_test::of_llama_cpp {

constexpr const char* kTwo = R"({"model": "llama-3.1-8b", "cluster": {"preset": "rtx-4090-8",
  "devices_per_node": 2}, "serving": {"engine": {"max_num_seqs": 77}}})";

Scenario read(const std::string& line, const char* base = kTwo) {
  return imported(Dialect::kLlamaCpp, "llama-server " + line, base);
}
std::string refused(const std::string& line) {
  return refusal(Dialect::kLlamaCpp, "llama-server " + line, kTwo);
}

TEST(ImportLlamaCpp, ShortNamesMeanWhatLongOnesDo) {
  const Scenario a = read(
      "-m x.gguf -ngl 20 -c 8192 -np 2 -b 256 -ub 128 -ctk bf16 -ctv bf16 "
      "-fa off -sm row -ts 1,1 -nkvo -ncmoe 3");
  const Scenario b = read(
      "--model x.gguf --n-gpu-layers 20 --ctx-size 8192 --parallel 2 --batch-size 256 "
      "--ubatch-size 128 --cache-type-k bf16 --cache-type-v bf16 --flash-attn off "
      "--split-mode row --tensor-split 1,1 --no-kv-offload --n-cpu-moe 3");
  EXPECT_EQ(a.canonical_json, b.canonical_json);
  const Serving& s = *a.serving;
  EXPECT_EQ(s.layers.dealing, Dealing::kGpuLayers);
  EXPECT_EQ(s.layers.gpu_layers, 20);
  EXPECT_EQ(s.layers.split, LayerSplit::kRow);
  EXPECT_EQ(s.layers.host_experts, 3);
  EXPECT_TRUE(s.layers.cache_on_host);
  EXPECT_EQ(s.precision.kv_cache, DType::kBf16);
  EXPECT_FALSE(s.precision.fused_attention);
  EXPECT_EQ(s.limits.max_sequences, 2);
  EXPECT_EQ(s.limits.max_context, 8192 / 2);
  EXPECT_EQ(s.limits.max_tokens, 128);
  EXPECT_EQ(a.strategy.mesh[Axis::kTp], 2);
}

// llama.cpp's defaults: what fits on devices, fused attention, f16, 4 slots, micro-batches of 512.
TEST(ImportLlamaCpp, WhatIsAbsentHasItsDefault) {
  const Serving s = *read("-m x.gguf").serving;
  EXPECT_EQ(s.layers.dealing, Dealing::kGpuLayers);
  EXPECT_EQ(s.layers.gpu_layers, -1);
  EXPECT_EQ(s.precision.kv_cache, DType::kFp16);
  EXPECT_TRUE(s.precision.fused_attention);
  EXPECT_FALSE(s.layers.cache_on_host);
  EXPECT_EQ(s.limits.max_sequences, 4);
  EXPECT_EQ(s.limits.max_tokens, 512);
  EXPECT_EQ(read("-c 4096").serving->limits.max_context, 4096);  // which the 4 share
  EXPECT_EQ(imported(Dialect::kLlamaCpp, "llama-cli -m x", kTwo).serving->limits.max_sequences, 1);
}

TEST(ImportLlamaCpp, LayersAreANumberOrAllOrWhatFits) {
  const auto layers = [](const std::string& n) {
    const LayerRule rule = read("-ngl " + n).serving->layers;
    return std::pair(rule.dealing, rule.gpu_layers);
  };
  EXPECT_EQ(layers("99"), std::pair(Dealing::kGpuLayers, std::int64_t{99}));
  EXPECT_EQ(layers("0"), std::pair(Dealing::kGpuLayers, std::int64_t{0}));
  EXPECT_EQ(layers("auto"), std::pair(Dealing::kGpuLayers, std::int64_t{-1}));
  EXPECT_EQ(layers("-1"), layers("auto"));
  EXPECT_EQ(layers("all").first, Dealing::kEven);
  EXPECT_EQ(layers("-2"), layers("all"));
}

// Without --tensor-split the devices are those of the machine.
TEST(ImportLlamaCpp, DevicesShareLayersOrMatrices) {
  struct Row {
    const char* line;
    std::int64_t pp, tp, dp;
  };
  for (const Row& row :
       {Row{"", 2, 1, 1}, Row{"-sm layer -ts 1/1", 2, 1, 1}, Row{"-sm row", 1, 2, 1},
        Row{"-sm tensor", 1, 2, 1}, Row{"-sm none", 1, 1, 1}, Row{"-ts 1,0", 1, 1, 1}}) {
    const Mesh& mesh = read(row.line).strategy.mesh;
    EXPECT_EQ(mesh[Axis::kPp], row.pp) << row.line;
    EXPECT_EQ(mesh[Axis::kTp], row.tp) << row.line;
    EXPECT_EQ(mesh[Axis::kDp], row.dp) << row.line;
  }
  EXPECT_EQ(refused("-sm row -ts 3,1"), "D006 line 1");
}

TEST(ImportLlamaCpp, ABaseWithoutATaskServes) {
  const Scenario s = read("-m x", R"({"model": "llama-3.1-8b", "cluster": "hgx-h100"})");
  EXPECT_TRUE(s.serving);
  EXPECT_EQ(s.strategy.mesh[Axis::kPp], 8);
  EXPECT_EQ(refusal(Dialect::kLlamaCpp, "llama-server -ngl 3"), "D008 line 1");  // over training
}

TEST(ImportLlamaCpp, AllExpertsAreThoseOfAllLayers) {
  EXPECT_EQ(read("-m Mixtral-8x7B.Q4_0.gguf -cmoe").serving->layers.host_experts, 32);
  EXPECT_GE(read("-m $MODEL --cpu-moe").serving->layers.host_experts, 32);
  EXPECT_EQ(refused("-cmoe -ncmoe 2"), "D004 line 1");
}

TEST(ImportLlamaCpp, FilesSayModelsAndFormats) {
  const auto expect = [](const char* path, const char* preset, const char* weights,
                         const char* head) {
    const llama_cpp::GgufName name = llama_cpp::gguf_name(path);
    EXPECT_EQ(name.preset, preset) << path;
    EXPECT_EQ(name.weights, weights) << path;
    EXPECT_EQ(name.head, head) << path;
  };
  expect("models/Llama-2-7B.Q4_0.gguf", "llama-2-7b", "q4_0", "q6_k");
  expect("bartowski/Llama-3.1-8B-GGUF:Q8_0", "llama-3.1-8b", "q8_0", "q8_0");
  expect("llama-2-13b-Q5_K_M.gguf", "llama-2-13b", "q5_k", "q6_k");
  expect("Llama-2-7b-hf-F16.gguf", "llama-2-7b", "plain", "plain");
  expect("Llama-2-7B-IQ4_XS.gguf", "llama-2-7b", "", "");
  expect("llama-3.1-8b.gguf", "llama-3.1-8b", "", "");
  expect("qwen.gguf", "", "", "");
  const Scenario s = read("-m models/Llama-2-7B.Q4_0.gguf");
  EXPECT_EQ(s.model.name, "llama-2-7b");
  EXPECT_EQ(s.serving->precision.weights, WeightFormat::kQ4_0);
  EXPECT_EQ(s.serving->precision.head, WeightFormat::kQ6K);
  EXPECT_EQ(read("-m Llama-2-7B-f16.gguf").serving->precision.activations, DType::kFp16);
}

TEST(ImportLlamaCpp, NothingIsPassedOverInSilence) {
  const auto told = [](const std::string& line) {
    return warnings(Dialect::kLlamaCpp, "llama-server " + line);
  };
  EXPECT_EQ(told("-t 8 -mg 0 --jinja -ngl 3 -p 'a b'"), "W007: not read: -t, -mg, --jinja, -p\n");
  EXPECT_EQ(told("--n-gpu-layer 3"),
            "W007: not read: --n-gpu-layer (did you mean --n-gpu-layers?)\n");
  EXPECT_EQ(told("-m x.gguf"), "W007: not read: the model x.gguf, which is no preset\n");
  EXPECT_EQ(told("-m Llama-2-7B-IQ4_XS.gguf"), "W007: not read: weights in iq4_xs\n");
  EXPECT_EQ(told("-m Llama-2-7B-Q4_K_M.gguf"),
            "W008: weights in q4_k_m, which mixes formats, are read as q4_k\n");
  EXPECT_EQ(told("-ctk q8_0 -ctv q8_0"),
            "W008: keys and values in q8_0, 8.5 bits each, are read as fp8\n");
  EXPECT_EQ(told("-m $MODEL -ngl 20 -fa -nkvo 0"), "");
}

// llama-bench takes 0 and 1 where llama-server has flags.
TEST(ImportLlamaCpp, BenchmarksHaveNumbersForFlags) {
  const auto bench = [](const std::string& line) {
    return imported(Dialect::kLlamaCpp, "llama-bench " + line, kTwo).serving;
  };
  EXPECT_TRUE(bench("-nkvo 1")->layers.cache_on_host);
  EXPECT_FALSE(bench("-nkvo 0")->layers.cache_on_host);
  EXPECT_FALSE(bench("-fa 0")->precision.fused_attention);
  EXPECT_TRUE(bench("-fa 1")->precision.fused_attention);
  EXPECT_EQ(refusal(Dialect::kLlamaCpp, "llama-bench -ngl 10,20", kTwo), "D003 line 1");
}

TEST(ImportLlamaCpp, BadValuesAreRefused) {
  EXPECT_EQ(refused("-ngl"), "D003 line 1");
  EXPECT_EQ(refused("\\\n -ngl many"), "D003 line 2");
  EXPECT_EQ(refused("-fa yes"), "D003 line 1");
  EXPECT_EQ(refused("-sm rows"), "D003 line 1");
  EXPECT_EQ(refused("-ts 1,a"), "D003 line 1");
  EXPECT_EQ(refused("-c 3 -np 4"), "D003 line 1");
  EXPECT_EQ(refused("-ngl 3 --gpu-layers 4"), "D004 line 1");
  EXPECT_EQ(refused("-kvo -nkvo"), "D004 line 1");
  EXPECT_EQ(refused("-ctk q4_0 -ctv q4_0"), "D006 line 1");
  EXPECT_EQ(refused("-ctv q8_0"), "D006 line 1");
}

TEST(ImportLlamaCpp, IsKnownByItsPrograms) {
  for (const char* text : {"./build/bin/llama-server -m x", "llama-cli -m x", "llama-bench -m x"}) {
    EXPECT_EQ(detect_dialect(text, "file"), Dialect::kLlamaCpp) << text;
  }
  EXPECT_EQ(detect_dialect("vllm serve meta-llama/Llama-3.1-8B", "file"), Dialect::kVllm);
}

}  // namespace plait::import_test::of_llama_cpp
