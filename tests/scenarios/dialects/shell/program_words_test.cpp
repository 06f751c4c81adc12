// Scripts with more commands than the one that starts the program, and options that stand twice.

#include "tests/scenarios/dialects/imported.h"

namespace plait::program_words_test {

using import_test::imported;
using import_test::refusal;
using import_test::warnings;

constexpr const char* kServes = R"({"cluster": "hgx-h100"})";
constexpr const char* kServer = "vllm serve meta-llama/Llama-3.1-8B --max-model-len 4096";

std::int64_t tp_of(const std::string& script, Dialect dialect = Dialect::kVllm) {
  return imported(dialect, script, kServes).strategy.mesh[Axis::kTp];
}

/// With nothing to warn of.
void expect_tp(const std::string& script, std::int64_t tp) {
  EXPECT_EQ(tp_of(script), tp);
  EXPECT_EQ(warnings(Dialect::kVllm, script), "");
}

TEST(ProgramWords, OtherCommandsHaveOptionsOfTheirOwn) {
  const std::string script = "hf download x --local-dir m\n" + std::string(kServer) +
                             " --tensor-parallel-size 2 &\n"
                             "python client.py --tensor-parallel-size 4 --model other | tee log\n";
  expect_tp(script, 2);
}

TEST(ProgramWords, OptionsInFrontOfAnImageAreDockers) {
  const std::string script =
      "docker run --gpus all --ulimit memlock=-1 --ulimit stack=1 \\\n vllm/vllm-openai:v0.8.5 "
      "--model meta-llama/Llama-3.1-8B --max-model-len 4096 --tensor-parallel-size 4";
  expect_tp(script, 4);
}

TEST(ProgramWords, ListsOfTheCommandAreItsOwn) {
  const std::string script =
      "SIZES=(--tensor-parallel-size 2)\nOTHERS=(--tensor-parallel-size 4)\n" +
      std::string(kServer) + " ${SIZES[@]}\npython client.py ${OTHERS[@]}\n";
  expect_tp(script, 2);
}

TEST(ProgramWords, AListMayHoldTheCommand) {
  const std::string script = "CMD=\"" + std::string(kServer) +
                             " --tensor-parallel-size 2\"\necho $CMD\neval $CMD\n"
                             "python client.py --tensor-parallel-size 4\n";
  EXPECT_EQ(tp_of(script), 2);
}

TEST(ProgramWords, WhatAFunctionGetsIsAllRead) {
  EXPECT_EQ(
      tp_of("start() {\n" + std::string(kServer) + " \"$@\"\n}\nstart --tensor-parallel-size 4\n"),
      4);
}

TEST(ProgramWords, TwoServersAreNamed) {
  const std::string two = std::string(kServer) + " --tensor-parallel-size 2\n" + kServer;
  EXPECT_EQ(refusal(Dialect::kVllm, two + " --tensor-parallel-size 4", kServes), "D004 line 2");
  EXPECT_EQ(refusal(Dialect::kVllm, two + " --tensor-parallel-size 2", kServes), "accepted");
  EXPECT_EQ(refusal(Dialect::kVllm, "echo " + two, kServes), "accepted");
  EXPECT_EQ(
      refusal(Dialect::kLlamaCpp, "llama-server -m a.gguf\n\nbin/llama-server -m b.gguf", kServes),
      "D004 line 3");
  try {
    read_settings(two + " --port 1", "run.sh", Dialect::kVllm);
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().problem,
              "the file starts vLLM in line 1 and, with other options, in line 2");
  }
}

TEST(ProgramWords, TrainingsHaveOtherCommandsToo) {
  const std::string script =
      "python load.py --split train --micro-batch-size 3\npython load.py --split valid\n"
      "ARGS=\"pretrain_gpt.py --micro-batch-size 1 --global-batch-size 64 --seq-length 64\"\n"
      "srun bash -c \"torchrun $ARGS\"\n";
  EXPECT_EQ(imported(Dialect::kMegatronCore, script).workload.micro_batch, 1);
  EXPECT_EQ(warnings(Dialect::kMegatronCore, script), "");
}

TEST(ProgramWords, OfAnOptionThatStandsTwiceTheLastCounts) {
  const std::string sizes = "--seq-length 64 --global-batch-size 64 \\\n--micro-batch-size 1 ";
  const std::string twice = sizes + "\\\n--micro-batch-size 2 --save-interval 1 --save-interval 2";
  EXPECT_EQ(imported(Dialect::kMegatronCore, twice).workload.micro_batch, 2);
  EXPECT_EQ(warnings(Dialect::kMegatronCore, twice),
            "W008: of options that stand several times the last is read: --micro-batch-size 2 "
            "(line 3)\n");
  EXPECT_EQ(warnings(Dialect::kMegatronCore, sizes + "--micro-batch-size 1"), "");
}

}  // namespace plait::program_words_test
