// Files of vllm serve --config.

#include <gtest/gtest.h>

#include "tests/scenarios/dialects/imported.h"

namespace plait::vllm_config_test {

using import_test::imported;
using import_test::refusal;
using import_test::warnings;

constexpr const char* kConfig =
    "# of two\nmodel: meta-llama/Llama-3.1-8B-Instruct\ntensor-parallel-size: 4\n"
    "max_num_seqs: 64\nmax-model-len: 8k\nenable-prefix-caching: false\nenforce-eager: true\n"
    "speculative-config:\n  method: ngram\n  num_speculative_tokens: 3\n";
constexpr const char* kMachine =
    R"({"cluster": "hgx-h100", "serving": {"speculative": {"acceptance": 0.5}}})";

TEST(VllmConfig, KeysAreOptions) {
  EXPECT_EQ(detect_dialect(kConfig, "config.yaml"), Dialect::kVllm);
  const Scenario s = imported(Dialect::kVllm, kConfig, kMachine);
  EXPECT_EQ(s.model.name, "llama-3.1-8b");
  EXPECT_EQ(s.strategy.mesh[Axis::kTp], 4);
  const EngineLimits& limits = s.serving->limits;
  EXPECT_EQ(limits.max_sequences, 64);
  EXPECT_EQ(limits.max_context, 8000);
  EXPECT_FALSE(limits.prefix_caching);
  EXPECT_FALSE(limits.graphs);
  EXPECT_EQ(s.serving->speculation.tokens, 3);
}

TEST(VllmConfig, WhatIsNotReadIsNamed) {
  EXPECT_EQ(warnings(Dialect::kVllm,
                     "model: Qwen/Qwen3-8B\nmax-num-seqs: 4\nport: 80\nlora-modules:\n  - a\n"),
            "W007: not read: --port, --lora-modules\n");
  EXPECT_EQ(refusal(Dialect::kVllm, "model: a/b\n\ntensor-parallel-size: four\n"), "D003 line 3");
  EXPECT_NE(warnings(Dialect::kVllm, "vllm serve --config c.yaml --max-num-seqs 4")
                .find("not read: c.yaml, the file of --config: import it first"),
            std::string::npos);
}

/// Files that only run it, and of other programs.
TEST(VllmConfig, OtherYamlIsNone) {
  const char* const compose =
      "services:\n  a:\n    command: vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2\n";
  EXPECT_EQ(detect_dialect(compose, "f"), Dialect::kVllm);
  EXPECT_EQ(
      imported(Dialect::kVllm, compose, R"({"cluster": "hgx-h100"})").strategy.mesh[Axis::kTp], 2);
  EXPECT_THROW(detect_dialect("base_model: a/b\nmodel:\n  name: c\n", "f"), InputError);
}

// Containers of Kubernetes.
TEST(VllmManifest, ItemsOfListsAreWords) {
  const char* const machine = R"({"cluster": "hgx-h100"})";
  const std::string image = "containers:\n- name: a\n  image: vllm/vllm-openai:latest\n";
  const std::string items = image +
                            "  args:\n  - \"--model\"\n  - \"Qwen/Qwen3-8B\"\n"
                            "  - \"--tensor-parallel-size\"\n  - \"2\"\n  - --max-num-seqs=8\n";
  EXPECT_EQ(imported(Dialect::kVllm, items, machine).strategy.mesh[Axis::kTp], 2);
  EXPECT_EQ(imported(Dialect::kVllm, items, machine).serving->limits.max_sequences, 8);
  const std::string command = image +
                              "  command: [\"/bin/sh\", \"-c\"]\n  args: [\n    \"vllm serve "
                              "Qwen/Qwen3-8B --tensor-parallel-size 4\"\n  ]\n";
  EXPECT_EQ(imported(Dialect::kVllm, command, machine).model.name, "qwen3-8b");
  EXPECT_EQ(imported(Dialect::kVllm, command, machine).strategy.mesh[Axis::kTp], 4);
}

}  // namespace plait::vllm_config_test
