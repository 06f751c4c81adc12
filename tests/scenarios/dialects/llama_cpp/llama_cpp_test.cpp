// What is written for llama.cpp and Ollama, of scenarios that serve.
#include <gtest/gtest.h>

#include "tests/scenarios/dialects/exported.h"

namespace plait::export_test::of_llama_cpp {

constexpr const char* kDesktop = "systems/llama-cpp-7b-q4_0";
constexpr Dialect kServers[] = {Dialect::kLlamaCpp, Dialect::kOllama};

std::string exported(Dialect dialect, const std::vector<Override>& changes = {}) {
  return render(settings_of(scenario_at(kDesktop, changes), dialect, Launcher::kNone),
                Launcher::kNone);
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
std::string not_represented(const std::string& text) {
  return text.substr(text.rfind("# not represented: "));
}

const std::vector<Override> kAllOnTwo = {{"cluster.devices_per_node", "2"},
                                         {"serving.layers", "even"}};
std::vector<Override> on_two(std::vector<Override> more) {
  more.insert(more.begin(), kAllOnTwo.begin(), kAllOnTwo.end());
  return more;
}
const std::vector<std::vector<Override>> kChanges = {
    {},
    {{"serving.layers.gpu_layers", "-1"}, {"serving.kv_cache", "fp8"}},
    {{"serving.layers.cache_on_host", "true"}, {"serving.layers.host_experts", "3"}},
    {{"serving.engine.enable_prefix_caching", "true"}, {"serving.layers.pinned", "true"}},
    on_two({{"strategy.pp", "2"}}),
    on_two({{"strategy.dp", "2"}}),
    on_two({{"strategy.tp", "2"}, {"serving.flash_attention", "true"}}),
    on_two({{"strategy.tp", "2"}, {"serving.layers.split", "row"}}),
};

TEST(ExportLlamaCpp, WritesOnlyOptionsThatTheProgramHas) {
  for (const DialectRow& row : dialects()) {
    if (std::ranges::count(kServers, row.dialect) == 0) continue;
    const std::vector<std::string> known = known_options(row);
    for (const auto& changes : kChanges) expect_known(scenario_at(kDesktop, changes), row, known);
  }
}

TEST(ExportLlamaCpp, GoldenFiles) {
  compare_with_golden("llama-7b.llama-server.txt", exported(Dialect::kLlamaCpp));
  compare_with_golden("llama-7b.Modelfile", exported(Dialect::kOllama));
  compare_with_golden("llama-7b-row.llama-server.txt",
                      exported(Dialect::kLlamaCpp,
                               on_two({{"strategy.tp", "2"}, {"serving.layers.split", "row"}})));
  compare_with_golden("llama-7b-2-gpus.Modelfile",
                      exported(Dialect::kOllama, on_two({{"strategy.pp", "2"}})));
}

TEST(ExportLlamaCpp, PinnedMemoryIsNoMappedFile) {
  EXPECT_FALSE(has(exported(Dialect::kLlamaCpp), "mmap"));
  EXPECT_TRUE(has(exported(Dialect::kLlamaCpp, {{"serving.layers.pinned", "true"}}), "--no-mmap "));
}

TEST(ExportLlamaCpp, TheContextIsThatOfAllSlots) {
  const std::string four = exported(Dialect::kLlamaCpp, {{"serving.engine.max_num_seqs", "4"}});
  EXPECT_TRUE(has(four, "--ctx-size 16384 "));  // 4 x 4096
  EXPECT_TRUE(has(four, "--parallel 4 "));
  const std::string ollama = exported(Dialect::kOllama, {{"serving.engine.max_num_seqs", "4"}});
  EXPECT_TRUE(has(ollama, "PARAMETER num_ctx 4096\n"));  // of each
}

TEST(ExportLlamaCpp, APoolThatSlotsShareIsUnified) {
  const auto pool = [](const char* tokens) {
    return exported(Dialect::kLlamaCpp, {{"serving.engine.max_num_seqs", "4"},
                                         {"serving.engine.kv_cache_tokens", tokens}});
  };
  EXPECT_TRUE(has(pool("4096"), "--ctx-size 4096 "));
  EXPECT_TRUE(has(pool("4096"), "--kv-unified "));
  EXPECT_FALSE(has(pool("16384"), "--kv-unified"));
}

TEST(ExportLlamaCpp, LayersOnDevicesAreANumberOrAllOrWhatFits) {
  const auto layers = [](const char* deal, const char* n) {
    return exported(Dialect::kLlamaCpp,
                    {{"serving.layers.deal", deal}, {"serving.layers.gpu_layers", n}});
  };
  EXPECT_TRUE(has(layers("gpu_layers", "20"), "--n-gpu-layers 20 "));
  EXPECT_TRUE(has(layers("gpu_layers", "-1"), "--n-gpu-layers auto "));
  EXPECT_TRUE(has(layers("even", "-1"), "--n-gpu-layers all "));
  // Of 32 layers; the output matrix is one more.
  EXPECT_TRUE(has(exported(Dialect::kOllama, {{"serving.layers.deal", "even"}}), "num_gpu 33\n"));
}

TEST(ExportLlamaCpp, DevicesSplitLayersOrMatrices) {
  const auto split = [](std::vector<Override> changes) {
    return exported(Dialect::kLlamaCpp, on_two(std::move(changes)));
  };
  EXPECT_TRUE(has(split({{"strategy.pp", "2"}}), "--split-mode layer \\\n  --tensor-split 1,1 "));
  EXPECT_TRUE(has(split({{"strategy.tp", "2"}, {"serving.layers.split", "row"}}),
                  "--split-mode row \\\n  --tensor-split 1,1 "));
  EXPECT_TRUE(has(split({{"strategy.tp", "2"}, {"serving.flash_attention", "true"}}),
                  "--split-mode tensor \\\n  --tensor-split 1,1 \\\n  --fit off "));
  EXPECT_TRUE(has(split({{"strategy.dp", "2"}}), "--split-mode none "));
  EXPECT_FALSE(has(exported(Dialect::kLlamaCpp), "--split-mode"));
}

// Given shares keep llama.cpp from working out what fits.
TEST(ExportLlamaCpp, WhatFitsComesWithoutShares) {
  const std::string text =
      exported(Dialect::kLlamaCpp,
               on_two({{"strategy.pp", "2"}, {"serving.layers", R"({"deal": "gpu_layers"})"}}));
  EXPECT_TRUE(has(text, "--n-gpu-layers auto "));
  EXPECT_TRUE(has(text, "--split-mode layer "));
  EXPECT_FALSE(has(text, "--tensor-split"));
}

TEST(ExportLlamaCpp, WhatHasNoArgumentIsListed) {
  const std::string unsaid = not_represented(
      exported(Dialect::kLlamaCpp, on_two({{"strategy.tp", "2"}, {"serving.kv_cache", "fp8"}})));
  EXPECT_TRUE(has(unsaid, "serving.weights = q4_0"));
  EXPECT_TRUE(has(unsaid, "strategy.tp = 2"));  // without fused attention
  const std::string ollama =
      not_represented(exported(Dialect::kOllama, {{"serving.layers.host_experts", "3"},
                                                  {"serving.kv_cache", "bf16"},
                                                  {"serving.layers.cache_on_host", "true"}}));
  EXPECT_TRUE(has(ollama, "serving.layers.host_experts = 3"));
  EXPECT_TRUE(has(ollama, "serving.kv_cache = bf16"));
  EXPECT_TRUE(has(ollama, "serving.layers.cache_on_host = true"));
}

TEST(ExportLlamaCpp, KeysAndValuesIn8BitsAreQ8) {
  const std::vector<Override> narrow = {{"serving.kv_cache", "fp8"}};
  EXPECT_TRUE(has(exported(Dialect::kLlamaCpp, narrow), "--cache-type-k q8_0 "));
  EXPECT_TRUE(has(exported(Dialect::kOllama, narrow), "OLLAMA_KV_CACHE_TYPE=q8_0"));
}

/// "D009 workload"
std::string refusal(const std::string& path, Dialect dialect, Launcher launcher = Launcher::kNone) {
  try {
    settings_of(scenario_at(path), dialect, launcher);
  } catch (const InputError& e) {
    EXPECT_FALSE(e.text().cure.empty());
    return e.text().code + " " + e.text().where.path;
  }
  return "accepted";
}

TEST(ExportLlamaCpp, WhatTheyDoNotDoIsRefused) {
  for (const Dialect dialect : kServers) {
    EXPECT_EQ(refusal("gpt3/gpt3-175b-64xa100", dialect), "D009 workload");
    EXPECT_EQ(refusal("systems/accelerate-device-map-opt-30b", dialect),
              "D009 serving.layers.deal");
    EXPECT_EQ(refusal(kDesktop, dialect, Launcher::kSlurm), "D007 ");
  }
}

}  // namespace plait::export_test::of_llama_cpp
