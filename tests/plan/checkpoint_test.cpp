// What a checkpoint holds does not depend on how it is split.

#include "plan/checkpoint.h"

#include <gtest/gtest.h>

#include "tests/plan/tiny.h"

namespace plait {
namespace {

std::int64_t bytes(const Model& model, const Workload& workload, const Strategy& strategy) {
  return checkpoint_bytes(make_plan(model, workload, strategy)).value;
}

// bf16 weights, fp32 main weights and two moments: BLOOM's 176e9 parameters are 2.46 TB by this,
// "2.3 TB" (TiB: 2.24) by its authors.
TEST(Checkpoint, HoldsFourteenBytesOfEachParameter) {
  const Model m = tiny_llama();
  EXPECT_EQ(bytes(m, tiny_workload(8), split({})), 14 * count_parameters(m).total(m));
}

TEST(Checkpoint, IsTheSameHoweverTheTrainingIsSplit) {
  const Model m = tiny_llama(4);
  const std::int64_t whole = bytes(m, tiny_workload(8), split({}));
  EXPECT_EQ(bytes(m, tiny_workload(8), split({.dp = 4})), whole);
  EXPECT_EQ(bytes(m, tiny_workload(8), split({.dp = 4}, 1)), whole);
  EXPECT_EQ(bytes(m, tiny_workload(8), split({.dp = 2}, 2)), whole);
  EXPECT_EQ(bytes(m, tiny_workload(8), split({.fsdp = 4}, 3)), whole / 14 * 12);
  EXPECT_EQ(bytes(m, tiny_workload(8), split({.fsdp = 2, .tp = 2}, 3)), whole / 14 * 12);
  EXPECT_EQ(bytes(m, tiny_workload(8), split({.tp = 2})), whole);
  EXPECT_EQ(bytes(m, tiny_workload(8), split({.pp = 2, .tp = 2})), whole);
  EXPECT_EQ(bytes(m, tiny_workload(8), split({.pp = 4, .dp = 2}, 1)), whole);
}

TEST(Checkpoint, CountsTiedEmbeddingsOfBothEndsOnce) {
  const Model m = tiny_gpt(4);
  EXPECT_EQ(bytes(m, tiny_workload(8), split({.pp = 2})), bytes(m, tiny_workload(8), split({})));
}

TEST(Checkpoint, LeavesOutFrozenWeights) {
  const Model m = tiny_llama();
  Workload w = tiny_workload(8);
  w.lora.rank = 2;
  EXPECT_LT(bytes(m, w, split({})), 14 * count_parameters(m).total(m) / 2);
  EXPECT_GT(bytes(m, w, split({})), 0);
}

TEST(Checkpoint, IsTheSameWhereStateIsOffloaded) {
  const Model m = tiny_llama();
  Strategy s = split({.dp = 2}, 1);
  const std::int64_t whole = bytes(m, tiny_workload(8), s);
  s.offload.optimizer = Offload::kCpu;
  EXPECT_EQ(bytes(m, tiny_workload(8), s), whole);
}

}  // namespace
}  // namespace plait
