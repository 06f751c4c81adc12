// How long Megatron-LM's arguments train.
#include "tests/scenarios/dialects/imported.h"

namespace plait::megatron_length_test {

using import_test::imported;
using import_test::refusal;
using import_test::warnings;

TEST(MegatronLength, ItsLengthIsTheTokensThatItTrainsOn) {
  const std::string sizes = "--seq-length 1024 --global-batch-size 8 ";
  EXPECT_EQ(imported(Dialect::kMegatronCore, sizes + "--train-iters 100").training->tokens,
            100.0 * 8 * 1024);
  EXPECT_EQ(imported(Dialect::kMegatronCore, sizes + "--train-samples 3000").training->tokens,
            3000.0 * 1024);
  EXPECT_FALSE(imported(Dialect::kMegatronCore, sizes).training);
  EXPECT_EQ(refusal(Dialect::kMegatronCore, sizes + "--train-samples 3\n--train-iters 3"),
            "D004 line 1");
  EXPECT_EQ(warnings(Dialect::kMegatronCore, "--bf16 --train-samples 3000"),
            "W007: not read: --train-samples\n");
}

// Of steps of the file, in a batch that the base has.
TEST(MegatronLength, IsInBatchesOfTheBaseWhereTheFileHasNone) {
  const std::string base = R"({"cluster": "hgx-h100", "model": "llama-3.1-8b",
      "workload": {"sequence_length": 4096, "global_batch": 64}})";
  EXPECT_EQ(imported(Dialect::kMegatronCore, "--bf16 --train-iters 100", base).training->tokens,
            100.0 * 64 * 4096);
}

// arguments.py: global_batch_size = micro_batch_size * data_parallel_size.
TEST(MegatronLength, ABatchThatNothingSaysIsAMicroBatchOfEachReplica) {
  const auto batch = [](const std::string& workload) {
    return import_test::imported(
               Dialect::kMegatronCore,
               "torchrun --nproc_per_node 8 pretrain_gpt.py --bf16 --micro-batch-size 2 "
               "--tensor-model-parallel-size 2",
               R"({"model": "llama-3.1-8b", "cluster": "hgx-h100", "workload": )" + workload + "}")
        .workload.global_batch;
  };
  EXPECT_EQ(batch(R"({"sequence_length": 4096})"), 2 * 8 / 2);
  EXPECT_EQ(batch(R"({"sequence_length": 4096, "global_batch": 64})"), 64);
}

}  // namespace plait::megatron_length_test
