// Command lines of llama.cpp as people write them.
#include <gtest/gtest.h>

#include "tests/scenarios/dialects/imported.h"

namespace plait::import_test::of_llama_cpp {

constexpr const char* kTwo = R"({"model": "llama-3.1-8b", "cluster": {"preset": "rtx-4090-8",
  "devices_per_node": 2}, "serving": {}})";

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
  EXPECT_EQ(s.limits.cache_tokens, 8192);
  EXPECT_EQ(s.limits.max_tokens, 128);
  EXPECT_EQ(a.strategy.mesh[Axis::kTp], 2);
}

TEST(ImportLlamaCpp, VariablesOfTheEnvironmentAreSaidNotToBeRead) {
  const std::string line = "llama-server -m llama-3.1-8b.gguf -c 4096";
  EXPECT_NE(warnings(Dialect::kLlamaCpp, "LLAMA_ARG_N_PARALLEL=2 " + line)
                .find("W007: not read: LLAMA_ARG_N_PARALLEL\n"),
            std::string::npos);
}

TEST(ImportLlamaCpp, AnImageOfDockerIsItsProgram) {
  const std::string docker =
      "docker run --gpus all -v /m:/m -p 8080:8080 ghcr.io/ggml-org/llama.cpp:server-cuda ";
  const std::string options = "-m llama-3.1-8b-Q8_0.gguf -c 4096 -np 2";
  EXPECT_EQ(detect_dialect(docker + options, "run.sh"), Dialect::kLlamaCpp);
  EXPECT_EQ(imported(Dialect::kLlamaCpp, docker + options, kTwo).canonical_json,
            read(options).canonical_json);
  EXPECT_EQ(warnings(Dialect::kLlamaCpp, docker + options), "");
}

TEST(ImportLlamaCpp, WhoComputesLayersThatNoDeviceHasIsForTheBaseToSay) {
  const auto asks = [](const std::string& more) {
    const Imported settings = read_settings("llama-server -m llama-3.1-8b-Q8_0.gguf -ngl 10",
                                            "run.sh", Dialect::kLlamaCpp);
    Warnings said;
    const std::string base =
        R"({"cluster": {"preset": "rtx-4090-8", "devices_per_node": 1)" + more + "}}";
    scenario_json(settings, "run.sh", {base, "base.json"}, "", &said);
    return std::ranges::any_of(said, [](const Warning& w) {
      return w.text.find("cluster.processor") != std::string::npos;
    });
  };
  EXPECT_TRUE(asks(""));
  EXPECT_FALSE(asks(R"(, "processor": "cpu-host")"));
}

TEST(ImportLlamaCpp, OfListsOfABenchmarkTheFirstIsRead) {
  const std::string line = "llama-bench -m llama-3.1-8b-Q8_0.gguf -ngl 10,99 -fa 0,1 -p 64";
  const Serving s = *imported(Dialect::kLlamaCpp, line, kTwo).serving;
  EXPECT_EQ(s.layers.gpu_layers, 10);
  EXPECT_FALSE(s.precision.fused_attention);
  EXPECT_NE(
      warnings(Dialect::kLlamaCpp, line).find("W007: not read: values of --flash-attn behind 0"),
      std::string::npos);
}

// llama.cpp's defaults: what fits on devices, fused attention, f16, 4 slots, micro-batches of 512.
TEST(ImportLlamaCpp, WhatIsAbsentHasItsDefault) {
  const Serving s = *read("-m x.gguf").serving;
  EXPECT_EQ(s.layers.dealing, Dealing::kGpuLayers);
  EXPECT_EQ(s.layers.gpu_layers, -1);
  EXPECT_EQ(s.precision.kv_cache, DType::kFp16);
  EXPECT_TRUE(s.precision.fused_attention);
  EXPECT_FALSE(s.layers.cache_on_host);
  EXPECT_FALSE(s.layers.pinned);
  EXPECT_TRUE(read("-m x.gguf --no-mmap").serving->layers.pinned);
  EXPECT_EQ(s.limits.max_sequences, 4);
  EXPECT_EQ(s.limits.max_tokens, 512);
  EXPECT_EQ(s.limits.engine, ServingEngine::kLlamaCpp);
  EXPECT_EQ(imported(Dialect::kLlamaCpp, "llama-cli -m x", kTwo).serving->limits.max_sequences, 1);
}

// Without --parallel, or with --kv-unified, slots share one pool of --ctx-size tokens.
TEST(ImportLlamaCpp, SlotsShareTheContextUnlessTheyAreCounted) {
  const auto limits = [](const std::string& line) { return read(line).serving->limits; };
  EXPECT_EQ(limits("-c 4096").max_sequences, 4);
  EXPECT_EQ(limits("-c 4096").max_context, 4096);
  EXPECT_EQ(limits("-c 4096").cache_tokens, 4096);
  EXPECT_EQ(limits("-c 4096 -np 4").max_context, 1024);
  EXPECT_EQ(limits("-c 4096 -np 4").cache_tokens, 4096);
  EXPECT_EQ(limits("-c 4096 -np 4 -kvu").max_context, 4096);
  EXPECT_EQ(refused("-c 4096 -kvu -no-kvu"), "D004 line 1");
  EXPECT_EQ(limits("-m Llama-2-7B.Q4_0.gguf -c 16384").max_context, 4096) << "its positions";
  EXPECT_EQ(limits("-m Llama-2-7B.Q4_0.gguf -c 16384").cache_tokens, 16384);
}

// Then it is the model's own, or what --fit finds room for.
TEST(ImportLlamaCpp, WithoutASizeTheContextIsLeftOpenUnlessNothingIsFitted) {
  EXPECT_EQ(read("-m x.gguf -c 0").serving->limits.cache_tokens, 0);
  const EngineLimits whole = read("-m Llama-2-7B.Q4_0.gguf --fit off").serving->limits;
  EXPECT_EQ(whole.max_context, 4096);
  EXPECT_EQ(whole.cache_tokens, 4096);
}

TEST(ImportLlamaCpp, AnAbsentOptionChangesNothingThatTheBaseSays) {
  const char* const base = R"({"model": "llama-3.1-8b", "cluster": "rtx-4090-8", "serving": {
    "layers": "even", "kv_cache": "bf16", "engine": {"max_num_seqs": 7},
    "requests": {"rate_per_s": 3}}})";
  const Serving s = *read("-sm none -m x.gguf", base).serving;
  EXPECT_EQ(s.layers.dealing, Dealing::kEven);
  EXPECT_EQ(s.precision.kv_cache, DType::kBf16);
  EXPECT_EQ(s.limits.max_sequences, 7);
  EXPECT_EQ(s.load.arrivals, Arrivals::kPoisson);
  EXPECT_EQ(s.load.rate_per_s, 3);
  EXPECT_EQ(read("-sm none -np 2 -ngl 5", base).serving->layers.gpu_layers, 5);
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
  EXPECT_EQ(read("-dev CUDA0").strategy.mesh[Axis::kPp], 1);
  EXPECT_EQ(read("-dev CUDA0,CUDA1 -sm row").strategy.mesh[Axis::kTp], 2);
  const auto visible = [](const std::string& devices) {
    return imported(Dialect::kLlamaCpp, "CUDA_VISIBLE_DEVICES=" + devices + " llama-server -c 512",
                    kTwo)
        .strategy.mesh[Axis::kPp];
  };
  EXPECT_EQ(visible("0"), 1);
  EXPECT_EQ(visible("0,1"), 2);
}

TEST(ImportLlamaCpp, ABaseWithoutATaskServes) {
  const Scenario s = read("-m x", R"({"model": "llama-3.1-8b", "cluster": "hgx-h100"})");
  EXPECT_TRUE(s.serving);
  EXPECT_EQ(s.strategy.mesh[Axis::kPp], 8);
  EXPECT_EQ(refusal(Dialect::kLlamaCpp, "llama-server -ngl 3"), "D008 line 1");  // over training
}

TEST(ImportLlamaCpp, AllExpertsAreThoseOfAllLayers) {
  EXPECT_EQ(read("-m Mixtral-8x7B.Q4_0.gguf -cmoe").serving->layers.host_experts, 32);
  EXPECT_EQ(read("-m $MODEL --cpu-moe").serving->layers.host_experts, kMostLayers);
  EXPECT_EQ(read("-m $MODEL -ot exps=CPU").serving->layers.host_experts, kMostLayers);
  EXPECT_EQ(refused("-cmoe -ncmoe 2"), "D004 line 1");
}

TEST(ImportLlamaCpp, NothingIsPassedOverInSilence) {
  const auto told = [](const std::string& line) {
    return warnings(Dialect::kLlamaCpp, "llama-server " + line);
  };
  EXPECT_EQ(told("-c 8 -t 8 -mg 0 --jinja -ngl 3 -p 'a b'"), "W007: not read: -t, -mg, -p\n");
  EXPECT_EQ(told("-c 8 --n-gpu-layer 3"),
            "W007: not read: --n-gpu-layer (did you mean --n-gpu-layers?)\n");
  EXPECT_EQ(told("-c 8 -m x.gguf"), "W007: not read: the model x.gguf, which is no preset\n");
  EXPECT_EQ(told("-c 8 -m Llama-2-7B-IQ4_XS.gguf"), "");
  EXPECT_EQ(told("-c 8 -m Llama-2-7B-Q4_K_S.gguf"),
            "W008: weights in q4_k_s, which mixes formats, are read as q4_k\n");
  EXPECT_EQ(told("-c 8 -ctk q8_0 -ctv q8_0"),
            "W008: keys and values in q8_0, 8.5 bits each, are read as fp8, which has 8\n");
  EXPECT_EQ(told("-c 8 -m $MODEL -ngl 20 -fa -nkvo 0"), "");
  EXPECT_TRUE(
      told("-m x.gguf")
          .ends_with("W008: without --ctx-size the context is the model's own, or what --fit finds "
                     "room for, 4096 "
                     "at least: here the longest request has room, unless the base says more\n"));
}

// llama-bench takes 0 and 1 where llama-server has flags.
TEST(ImportLlamaCpp, BenchmarksHaveNumbersForFlags) {
  const auto bench = [](const std::string& line) {
    return imported(Dialect::kLlamaCpp, "llama-bench " + line, kTwo).serving;
  };
  EXPECT_TRUE(bench("-nkvo 1")->layers.cache_on_host);
  EXPECT_FALSE(bench("-nkvo 0")->layers.cache_on_host);
  EXPECT_FALSE(bench("-fa 0")->precision.fused_attention);
  EXPECT_TRUE(bench("-mmp 0")->layers.pinned);
  EXPECT_FALSE(bench("--mmap 1")->layers.pinned);
  EXPECT_TRUE(bench("-fa 1")->precision.fused_attention);
  EXPECT_FALSE(bench("-nkvo 0,1")->layers.cache_on_host);  // the first
}

// -p 512 -n 128 by default, five times.
TEST(ImportLlamaCpp, BenchmarksAreOneUserWithTheirTest) {
  const auto load = [](const std::string& line) {
    return imported(Dialect::kLlamaCpp, "llama-bench " + line, kTwo).serving->load;
  };
  const auto shape = [&](const std::string& line) {
    const Load l = load(line);
    EXPECT_EQ(l.arrivals, Arrivals::kClosed);
    EXPECT_EQ(l.concurrency, 1);
    return std::pair(l.kinds.at(0).prompt_tokens, l.kinds.at(0).output_tokens);
  };
  EXPECT_EQ(shape(""), std::pair(std::int64_t{512}, std::int64_t{128}));
  EXPECT_EQ(load("").count, 5);
  EXPECT_EQ(shape("-p 2048 -n 32 -d 4096"), std::pair(std::int64_t{6144}, std::int64_t{32}));
  EXPECT_EQ(shape("--n-prompt 0 --n-gen 64"), std::pair(std::int64_t{1}, std::int64_t{64}));
  EXPECT_EQ(shape("-p 512,1024 -n 16 -n 32"), std::pair(std::int64_t{512}, std::int64_t{16}));
  EXPECT_NE(
      warnings(Dialect::kLlamaCpp, "llama-bench -p 512,1024").find("W007: not read: values of -p"),
      std::string::npos);
}

TEST(ImportLlamaCpp, AServerAtHomeHasOneUser) {
  const Load one = read("-c 4096 -n 200").serving->load;
  EXPECT_EQ(one.arrivals, Arrivals::kClosed);
  EXPECT_EQ(one.concurrency, 1);
  EXPECT_EQ(one.kinds.at(0).output_tokens, 200);
}

TEST(ImportLlamaCpp, BadValuesAreRefused) {
  EXPECT_EQ(refused("-ngl"), "D003 line 1");
  EXPECT_EQ(refused("\\\n -ngl many"), "D003 line 2");
  EXPECT_EQ(refused("-fa yes"), "D003 line 1");
  EXPECT_EQ(refused("-sm rows"), "D003 line 1");
  EXPECT_EQ(refused("-ts 1,a"), "D003 line 1");
  EXPECT_EQ(refused("-c 3 -np 4"), "D003 line 1");
  EXPECT_EQ(refused("-kvo -nkvo"), "D004 line 1");
  EXPECT_EQ(refused("-ctk q2_k -ctv q2_k"), "D006 line 1");
  EXPECT_EQ(refused("-ctv q8_0"), "D006 line 1");
}

TEST(ImportLlamaCpp, IsKnownByItsPrograms) {
  for (const char* text : {"./build/bin/llama-server -m x", "llama-cli -m x", "llama-bench -m x"}) {
    EXPECT_EQ(detect_dialect(text, "file"), Dialect::kLlamaCpp) << text;
  }
  EXPECT_EQ(detect_dialect("vllm serve meta-llama/Llama-3.1-8B", "file"), Dialect::kVllm);
}

TEST(ImportLlamaCpp, WithoutAVisibleDeviceAllLayersAreTheProcessors) {
  for (const char* none : {"\"\"", "-1"}) {
    const Scenario s = imported(
        Dialect::kLlamaCpp,
        "CUDA_VISIBLE_DEVICES=" + std::string(none) + " llama-server -c 512 -ngl 99", kTwo);
    EXPECT_EQ(s.serving->layers.dealing, Dealing::kGpuLayers);
    EXPECT_EQ(s.serving->layers.gpu_layers, 0);
    EXPECT_EQ(s.strategy.mesh[Axis::kPp], 1);
  }
}

TEST(ImportLlamaCpp, AProcessorIsAskedForWhereItHasLayers) {
  const auto asks = [](const std::string& layers) {
    const Imported settings =
        read_settings("llama-server -m Llama-3.1-8B-Q4_0.gguf -c 512 -ngl " + layers, "run.sh",
                      Dialect::kLlamaCpp);
    Warnings warnings;
    scenario_json(settings, "run.sh",
                  {R"({"cluster": {"preset": "pcie-8", "devices_per_node": 1}})", "base.json"}, "",
                  &warnings);
    return std::ranges::any_of(warnings, [](const Warning& w) {
      return w.text.find("cluster.processor") != std::string::npos;
    });
  };
  EXPECT_TRUE(asks("20"));
  EXPECT_TRUE(asks("32"));  // the output matrix is one more
  EXPECT_FALSE(asks("33"));
}

// No scheduler of Python is between its steps.
TEST(ImportLlamaCpp, ItsHostTakesNoTimeUnlessTheBaseSaysSo) {
  EXPECT_EQ(read("-c 512").serving->limits.step_overhead.value, 0);
  const Scenario vllm =
      parse_scenario(R"({"model": "llama-3.1-8b", "serving": {}, "cluster": "hgx-h100"})", "s");
  EXPECT_GT(vllm.serving->limits.step_overhead.value, 0);
}

TEST(ImportLlamaCpp, ADenseModelHasNoExpertsToKeepOnTheHost) {
  for (const char* option : {"--cpu-moe", "--n-cpu-moe 8"}) {
    const std::string command =
        "llama-server -m Meta-Llama-3.1-8B-Instruct-Q4_0.gguf -ngl 99 -c 4096 " +
        std::string(option);
    const Scenario s = imported(Dialect::kLlamaCpp, command, R"({"cluster": "hgx-h100"})");
    EXPECT_EQ(s.serving->layers.host_experts, 0) << option;
    EXPECT_NE(warnings(Dialect::kLlamaCpp, command)
                  .find("(line 1) changes nothing: llama-3.1-8b has no experts"),
              std::string::npos);
  }
}

TEST(ImportLlamaCpp, ANarrowCacheIsReadAsTheNextWiderType) {
  const std::string command = "llama-server -m llama-3.1-8b-q4_0.gguf -c 0 -ctk q4_0 -ctv q4_0\n";
  const Imported read = read_settings(command, "run.sh", Dialect::kLlamaCpp);
  const auto value = [&](const std::string& path) {
    const auto found = std::ranges::find(read.given, path, &Given::path);
    return found == read.given.end() ? std::string() : found->value;
  };
  EXPECT_EQ(value("serving.kv_cache"), R"("fp8")");
  EXPECT_EQ(value("serving.engine.max_model_len"), "131072");  // the model's own
  std::string said;
  for (const Warning& w : read.warnings) said += printed(w);
  EXPECT_NE(said.find("4.5 bits each"), std::string::npos) << said;
  EXPECT_EQ(said.find("what --fit finds"), std::string::npos) << said;
}

TEST(ImportLlamaCpp, OptionsThatChangeNothingAreNotListed) {
  const std::string command = "llama-server -m llama-3.1-8b-q4_0.gguf -c 4096 ";
  const auto said = [&](const std::string& more) {
    std::string out;
    for (const Warning& w : read_settings(command + more, "run.sh", Dialect::kLlamaCpp).warnings)
      out += printed(w) + "\n";
    return out;
  };
  EXPECT_EQ(said("--host 0.0.0.0 --port 80 --jinja --temp 0.7 --top-p 0.9 -lv 3 --no-warmup"),
            said(""));
  EXPECT_NE(said("--unheard-of"), said(""));
}

}  // namespace plait::import_test::of_llama_cpp
