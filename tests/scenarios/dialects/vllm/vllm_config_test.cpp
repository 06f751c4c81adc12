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
            "W007: not read: --lora-modules\n");
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

/// A compose file whose command has these lines.
std::string composed(const std::string& command) {
  return "services:\n  vllm:\n    image: vllm/vllm-openai:v0.6.3\n    ports:\n      - "
         "\"8080:8000\"  # of the host\n" +
         command + "    deploy:\n      capabilities: [gpu]\n";
}

TEST(VllmManifest, ItemsMayStandOnALineTogether) {
  const char* kLines = R"(    command: [
      "--model", "meta-llama/Meta-Llama-3-8B-Instruct",  # a comment, with commas
      "--max-model-len=4096", "--max-num-seqs","2",
      "--tensor-parallel-size", "2", '--enforce-eager',
    ]
)";
  const Scenario s = imported(Dialect::kVllm, composed(kLines),
                              R"({"model": "llama-3.1-8b", "cluster": "hgx-h100"})");
  EXPECT_EQ(s.strategy.mesh[Axis::kTp], 2);
  EXPECT_EQ(s.serving->limits.max_sequences, 2);
  EXPECT_EQ(s.serving->limits.max_context, 4096);
  EXPECT_FALSE(s.serving->limits.graphs);
  const char* kOne = "    command: [--model, x, --tensor-parallel-size, '4']\n";
  EXPECT_EQ(imported(Dialect::kVllm, composed(kOne),
                     R"({"model": "llama-3.1-8b", "cluster": "hgx-h100"})")
                .strategy.mesh[Axis::kTp],
            4);
}

TEST(VllmManifest, JsonIsOneWord) {
  const char* kLines =
      "    command:\n      - --model=x\n      - '--speculative-config={\"method\": \"ngram\", "
      "\"num_speculative_tokens\": 2}'\n      - --served-model-name=[a,b]\n";
  const Scenario s = imported(Dialect::kVllm, composed(kLines),
                              R"({"model": "llama-3.1-8b", "cluster": "hgx-h100",
                                  "serving": {"speculative": {"acceptance": 0.5}}})");
  EXPECT_EQ(s.serving->speculation.tokens, 2);
}

/// A container as kubectl writes one, its keys in order of the alphabet.
std::string container(const std::string& name, const std::string& image, const std::string& args) {
  return "      - args:\n        - --tensor-parallel-size\n        - \"" + args +
         "\"\n        image: " + image + "\n        name: " + name + "\n";
}

TEST(VllmManifest, OneContainerIsRead) {
  const std::string base = R"({"model": "llama-3.1-8b", "cluster": "hgx-h100"})",
                    top = "kind: Pod\nspec:\n    containers:\n",
                    small = container("a", "vllm/vllm-openai:v1", "2"),
                    large = container("b", "vllm/vllm-openai:v1", "4"),
                    other = container("c", "mine/proxy:1", "8");
  EXPECT_EQ(refusal(Dialect::kVllm, top + small + large, base), "D004 line 12");
  for (const std::string& text : {top + small + other, top + other + small}) {
    EXPECT_EQ(imported(Dialect::kVllm, text, base).strategy.mesh[Axis::kTp], 2);
  }
  const std::string composed =
      "services:\n  a:\n    image: vllm/vllm-openai:v1\n    command: --tensor-parallel-size 2\n"
      "  b:\n    image: vllm/vllm-openai:v1\n    command: --tensor-parallel-size 4\n";
  EXPECT_EQ(refusal(Dialect::kVllm, composed, base), "D004 line 6");
}

TEST(VllmManifest, ADockerfileHasACommand) {
  const std::string file =
      "FROM  vllm/vllm-openai:latest\nENV A=1\nEXPOSE 8000\nCMD [\"--model\", "
      "\"meta-llama/Llama-3.1-8B-Instruct\", \"--tensor_parallel_size\", \"4\", "
      "\"--enforce-eager\", \"--max-model-len\", \"8128\"]\n";
  EXPECT_EQ(detect_dialect(file, "Dockerfile"), Dialect::kVllm);
  const Scenario s = imported(Dialect::kVllm, file, R"({"cluster": "hgx-h100"})");
  EXPECT_EQ(s.model.name, "llama-3.1-8b");
  EXPECT_EQ(s.strategy.mesh[Axis::kTp], 4);
}

}  // namespace plait::vllm_config_test
