// A plan of any strategy computes the loss and all gradients of the unsharded plan. Tolerances: one
// rounding is 2^-53 (2^-24) of a term; a gradient is a sum of about 10^4 terms through a dozen ops,
// whose errors grow like the square root of their number: 1e-12 and 1e-5 leave a factor of ten.
#include "realrun/verify.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <string>
#include <vector>

namespace plait {
namespace {

constexpr std::int64_t kSequence = 8, kBatch = 8;

Model tiny(bool llama) {
  Model m;
  m.name = llama ? "llama" : "gpt";
  m.layers = 4, m.hidden = 16, m.heads = 4, m.kv_heads = llama ? 2 : 4, m.head_dim = 4;
  m.ffn_hidden = 32, m.vocab = 32, m.max_positions = kSequence;
  if (llama) return m;
  m.norm = NormKind::kLayerNorm, m.activation = ActivationKind::kGelu, m.gated_mlp = false;
  m.positions = PositionKind::kLearned, m.tied_embeddings = true;
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  m.dropout = 0.1;
  return m;
}

Workload work() {
  Workload w;
  w.sequence_length = kSequence, w.global_batch = kBatch, w.micro_batch = 1;
  w.precision = {DType::kFp32, DType::kFp32, DType::kFp32, DType::kFp32, DType::kFp32};
  return w;
}

struct Case {
  std::string name;
  bool llama = true;
  std::int64_t pp = 1, dp = 1, fsdp = 1, tp = 1;
  int zero = 0;
  Strategy more = {};  // everything but the mesh and zero_stage
  bool flash = true;
  std::int64_t micro_batch = 1;
};

Strategy strategy_of(const Case& c) {
  Strategy s = c.more;
  s.mesh[Axis::kPp] = c.pp, s.mesh[Axis::kDp] = c.dp;
  s.mesh[Axis::kFsdp] = c.fsdp, s.mesh[Axis::kTp] = c.tp;
  s.zero_stage = c.zero;
  return s;
}

Strategy with(void (*change)(Strategy&)) {
  Strategy s;
  change(s);
  return s;
}

const auto kSp = [](Strategy& s) { s.sequence_parallel = true; };
const auto kFull = [](Strategy& s) { s.recompute.kind = Recompute::kFull; };
const auto kSelective = [](Strategy& s) { s.recompute.kind = Recompute::kSelective; };
const auto kPartFull = [](Strategy& s) { s.recompute = {Recompute::kFull, 1}; };
const auto kGpipe = [](Strategy& s) { s.pipeline.schedule = Schedule::kGpipe; };
const auto kInterleaved = [](Strategy& s) { s.pipeline = {Schedule::kInterleaved, 2, -1, -1}; };
const auto kUneven = [](Strategy& s) { s.pipeline = {Schedule::k1f1b, 1, 3, 1}; };
const auto kSmallBuckets = [](Strategy& s) { s.data.bucket = Bytes(1024); };
const auto kNoOverlap = [](Strategy& s) { s.data.overlap = false; };
const auto kKeep = [](Strategy& s) { s.fsdp.reshard_after_forward = false; };
const auto kAhead = [](Strategy& s) { s.fsdp.prefetch = 2; };
const auto kSpInterleavedFull = [](Strategy& s) { kSp(s), kInterleaved(s), kFull(s); };

std::vector<Case> cases() {
  return {
      {"one rank in microbatches of two", true, 1, 1, 1, 1, 0, {}, true, 2},
      {"dp", true, 1, 2},
      {"dp, small buckets", true, 1, 4, 1, 1, 0, with(kSmallBuckets)},
      {"dp, gpt", false, 1, 2},
      {"dp, zero 1", true, 1, 2, 1, 1, 1},
      {"dp, zero 1, small buckets", true, 1, 2, 1, 1, 1, with(kSmallBuckets)},
      {"dp, zero 1, no overlap", false, 1, 2, 1, 1, 1, with(kNoOverlap)},
      {"dp, zero 2", true, 1, 2, 1, 1, 2},
      {"dp, zero 3", true, 1, 2, 1, 1, 3},
      {"fsdp", true, 1, 1, 4, 1, 3},
      {"fsdp, gpt", false, 1, 1, 2, 1, 3},
      {"fsdp, kept after forward", true, 1, 1, 2, 1, 3, with(kKeep)},
      {"fsdp, two ahead", true, 1, 1, 2, 1, 3, with(kAhead)},
      {"hybrid shard", true, 1, 2, 2, 1, 3},
      {"hybrid zero 1", true, 1, 2, 2, 1, 1},
      {"hybrid zero 1, small buckets", true, 1, 2, 2, 1, 1, with(kSmallBuckets)},
      {"tp", true, 1, 1, 1, 2},
      {"tp, gpt", false, 1, 1, 1, 4},
      {"tp, unfused", false, 1, 1, 1, 2, 0, {}, false},
      {"tp, sp", true, 1, 1, 1, 2, 0, with(kSp)},
      {"tp, sp, gpt", false, 1, 1, 1, 4, 0, with(kSp)},
      {"pp", true, 2},
      {"pp, gpt (tied)", false, 4},
      {"pp, gpipe", true, 2, 1, 1, 1, 0, with(kGpipe)},
      {"pp, interleaved", true, 2, 1, 1, 1, 0, with(kInterleaved)},
      {"pp, uneven", true, 2, 1, 1, 1, 0, with(kUneven)},
      {"recompute all", true, 1, 1, 1, 1, 0, with(kFull)},
      {"recompute all, gpt", false, 1, 1, 1, 2, 0, with(kFull)},
      {"recompute some", true, 2, 1, 1, 1, 0, with(kPartFull)},
      {"recompute attention", false, 1, 1, 1, 2, 0, with(kSelective), false},
      {"pp, dp, tp", true, 2, 2, 1, 2},
      {"pp, dp, tp, sp, zero 1", false, 2, 2, 1, 2, 1, with(kSp)},
      {"fsdp, tp, sp", true, 1, 1, 2, 2, 3, with(kSp)},
      {"pp, fsdp", true, 2, 1, 2, 1, 3},
      {"pp, fsdp, tp, sp, interleaved, recompute", true, 2, 1, 2, 2, 2, with(kSpInterleavedFull)},
  };
}

class Matrix : public testing::TestWithParam<Case> {};

void expect_same_gradients(const Case& c, RunPrecision precision, double tolerance) {
  const Model model = tiny(c.llama);
  Workload w = work();
  w.flash_attention = c.flash;
  const Plan unsharded = make_plan(model, w, Strategy{});
  w.micro_batch = c.micro_batch;
  const Verification v = verify(model, make_plan(model, w, strategy_of(c)), unsharded, precision);
  EXPECT_NEAR(v.loss, v.reference_loss, tolerance * v.reference_loss);
  EXPECT_LE(v.worst_error, tolerance) << v.worst_tensor;
  EXPECT_TRUE(v.replicas_agree);
  EXPECT_TRUE(v.memory_as_planned);
}

TEST_P(Matrix, GradientsEqualTheUnshardedOnesInFp64) {
  expect_same_gradients(GetParam(), RunPrecision::kFp64, 1e-12);
}
TEST_P(Matrix, GradientsEqualTheUnshardedOnesInFp32) {
  expect_same_gradients(GetParam(), RunPrecision::kFp32, 1e-5);
}
std::string identifier(const testing::TestParamInfo<Case>& c) {
  std::string name;
  for (char ch : c.param.name) {
    if (std::isalnum(static_cast<unsigned char>(ch)) != 0)
      name += ch;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(Strategies, Matrix, testing::ValuesIn(cases()), identifier);

TEST(Verify, TheLossBeginsNearThatOfGuessing) {
  // Random weights know nothing: about ln V nats per token, within a nat for weights of this size.
  const Plan plan = make_plan(tiny(true), work(), Strategy{});
  const Verification v = verify(tiny(true), plan, plan, RunPrecision::kFp64);
  EXPECT_NEAR(v.loss, std::log(32.0), 1.0);
  EXPECT_EQ(v.worst_error, 0);
}

/// The plan without the collectives for which `drop` holds.
Plan without(Plan plan, bool (*drop)(const Block&, const Collective&)) {
  for (Block& block : plan.blocks) {
    std::erase_if(block.ops, [&](const Op& op) {
      const Collective* c = std::get_if<Collective>(&op.body);
      return c != nullptr && op.operands[0].use == Use::kUpdate && drop(block, *c);
    });
  }
  return plan;
}

TEST(Verify, CatchesADroppedGradientReduction) {
  Strategy s;
  s.mesh[Axis::kDp] = 2;
  const Plan broken =
      without(make_plan(tiny(true), work(), s),
              [](const Block& b, const Collective&) { return b.name == "grad_sync"; });
  EXPECT_GT(
      verify(tiny(true), broken, make_plan(tiny(true), work(), Strategy{}), RunPrecision::kFp64)
          .worst_error,
      0.1);
}

TEST(Verify, CatchesADroppedTensorParallelReductionInBackward) {
  Strategy s;
  s.mesh[Axis::kTp] = 2;
  const Plan broken =
      without(make_plan(tiny(true), work(), s),
              [](const Block& b, const Collective&) { return b.name == "layer.backward"; });
  EXPECT_GT(
      verify(tiny(true), broken, make_plan(tiny(true), work(), Strategy{}), RunPrecision::kFp64)
          .worst_error,
      0.1);
}

}  // namespace
}  // namespace plait
