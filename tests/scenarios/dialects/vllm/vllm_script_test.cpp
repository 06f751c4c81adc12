// Scripts that start vllm serve: files that they write, hosts, and what changes nothing.

#include <gtest/gtest.h>

#include "tests/scenarios/dialects/imported.h"

namespace plait::vllm_script_test {

using import_test::imported;
using import_test::refusal;
using import_test::warnings;

constexpr const char* kMachine = R"({"cluster": "hgx-h100"})";
const std::string kWrites =
    "#!/bin/bash\nnvidia-smi\ncat > config.yaml << EOF\nmax-num-seqs: 8\n"
    "max-num-batched-tokens: 4096\ntrust-remote-code: true\nEOF\n";

// argparse_utils.py: the command's own options count more.
TEST(VllmScript, TheFileThatItWritesIsRead) {
  const std::string script =
      kWrites + "vllm serve Qwen/Qwen3-8B --max-num-seqs 16 --config config.yaml -tp 2\n";
  EXPECT_EQ(detect_dialect(script, "run.sh"), Dialect::kVllm);
  const Scenario s = imported(Dialect::kVllm, script, kMachine);
  EXPECT_EQ(s.model.name, "qwen3-8b");
  EXPECT_EQ(s.strategy.mesh[Axis::kTp], 2);
  EXPECT_EQ(s.serving->limits.max_sequences, 16);
  EXPECT_EQ(s.serving->limits.max_tokens, 4096);
  EXPECT_EQ(warnings(Dialect::kVllm, script).find("W007"), std::string::npos);
}

TEST(VllmScript, AFileOfAnotherNameIsNone) {
  const std::string script = kWrites + "vllm serve Qwen/Qwen3-8B --config other.yaml\n";
  EXPECT_NE(warnings(Dialect::kVllm, script).find("W007: not read: other.yaml"), std::string::npos);
  EXPECT_NE(imported(Dialect::kVllm, script, kMachine).serving->limits.max_sequences, 8);
}

TEST(VllmScript, AValueThatOnlyARunKnowsIsToBeWritten) {
  const std::string script =
      "cat > c.yaml <<EOF\nmax-num-seqs: $MOST\nEOF\nvllm serve Qwen/Qwen3-8B --config c.yaml\n";
  EXPECT_EQ(refusal(Dialect::kVllm, script, kMachine), "D003 line 2");
}

std::pair<std::int64_t, std::int64_t> machine_of(const std::string& options) {
  const Scenario s = imported(Dialect::kVllm, "vllm serve Qwen/Qwen3-8B " + options,
                              R"({"cluster": {"preset": "hgx-h100", "nodes": 4}})");
  return {s.cluster.nodes, s.cluster.devices_per_node};
}
using Machine = std::pair<std::int64_t, std::int64_t>;

TEST(VllmScript, HostsOfItsRanksMayBeCounted) {
  EXPECT_EQ(machine_of("-tp 4 -pp 2 --nnodes 2 --node-rank 0 --master-addr a"), Machine(2, 4));
  EXPECT_EQ(machine_of("-dp 8 --data-parallel-size-local 4"), Machine(2, 4));
  EXPECT_EQ(machine_of("-dp 8 --data-parallel-size-local 8"), Machine(1, 8));
  EXPECT_EQ(refusal(Dialect::kVllm, "vllm serve Qwen/Qwen3-8B -tp 4 --nnodes 3", kMachine),
            "D004 line 1");
}

TEST(VllmScript, WhatChangesNothingIsNotListed) {
  const std::string start = "vllm serve Qwen/Qwen3-8B --max-num-seqs 8 --max-model-len 4096 ";
  EXPECT_EQ(warnings(Dialect::kVllm, start + "--host 0.0.0.0 --port 80 --trust-remote-code "
                                             "--served-model-name a --reasoning-parser b "
                                             "--tool-call-parser c --enable-auto-tool-choice "
                                             "--api-key d --disable-log-requests"),
            "");
  EXPECT_EQ(warnings(Dialect::kVllm, start + "--port 80 --cpu-offload-gb 4"),
            "W007: not read: --cpu-offload-gb\n");
  EXPECT_EQ(warnings(Dialect::kVllm, "export VLLM_PORT=80 VLLM_USE_DEEP_GEMM=1\n" + start),
            "W007: not read: VLLM_USE_DEEP_GEMM\n");
}

TEST(VllmScript, AVariableOfItsOwnIsNoSettingOfTheServer) {
  EXPECT_EQ(warnings(Dialect::kVllm,
                     "VLLM_CMD=\"vllm serve Qwen/Qwen3-8B --max-model-len 4096\"\n"
                     "VLLM_CMD+=\" --max-num-seqs 8\"\n$VLLM_CMD\n"),
            "");
}

TEST(VllmScript, OptionsOfPythonAreNone) {
  const std::string module =
      "vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B "
      "--max-num-seqs 8 --max-model-len 4096";
  EXPECT_EQ(warnings(Dialect::kVllm, "python3 -m " + module), "");
  EXPECT_EQ(
      warnings(Dialect::kVllm,
               "containers:\n- name: a\n  image: vllm/vllm-openai:v1\n  command: [\"/bin/sh\", "
               "\"-c\"]\n  args: [\"python3 -m " +
                   module + "\"]\n"),
      "");
}

TEST(VllmScript, PodsOfADeploymentAreRead) {
  const std::string manifest =
      "kind: Deployment\nspec:\n  replicas: 4  # of them\n  template:\n    spec:\n"
      "      containers:\n      - name: a\n        image: vllm/vllm-openai:v1\n        args:\n"
      "        - --model=Qwen/Qwen3-8B\n        - --max-model-len=4096\n";
  EXPECT_EQ(warnings(Dialect::kVllm, manifest).substr(0, 44),
            "W008: replicas 4 (line 3) are read as one: e");
}

}  // namespace plait::vllm_script_test
