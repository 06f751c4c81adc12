// What verification measures: steps, clipping, bf16, memory, and that a wrong norm shows.
#include "realrun/verify.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "realrun/matrix/models.h"
#include "realrun/rounding.h"
#include "tests/realrun/verify_models.h"

namespace plait::verify_test {

Plan unsharded(const Model& m, RunPrecision precision = RunPrecision::kFp64) {
  return make_plan(m, in_precision(small_workload(), precision), Strategy{});
}
Plan split(const Model& m, const Strategy& s, RunPrecision precision = RunPrecision::kFp64) {
  return make_plan(m, in_precision(small_workload(), precision), s);
}

TEST(Verify, TheLossBeginsNearThatOfGuessing) {
  // Random weights know nothing: about ln V nats per token, within a nat for weights of this size.
  const Plan plan = unsharded(small_llama());
  const Verification v = verify(small_llama(), plan, plan, RunPrecision::kFp64);
  EXPECT_NEAR(v.losses.at(0), std::log(32.0), 1.0);
  EXPECT_EQ(v.worst_error, 0);
  EXPECT_TRUE(passes(v, tolerance_of(RunPrecision::kFp64)));
}

TEST(Verify, TheLossFallsOverSteps) {
  // Adam moves every weight by about the learning rate, downhill, on the same batch every step.
  const Plan plan = unsharded(small_llama());
  const ModelState state = run_steps(small_llama(), plan, RunPrecision::kFp64, {.steps = 4});
  for (std::size_t i = 1; i < 4; ++i) EXPECT_LT(state.losses[i], state.losses[i - 1]);
}

TEST(Documents, AreSeparateAndTheirPaddingIsNotTrainedOn) {
  // Causal attention never looks at what comes later, so padding at the end changes only which
  // labels count; packing also changes what a token sees. Neither goes unnoticed.
  const RunPrecision precision = RunPrecision::kFp64;
  Workload w = in_precision(small_workload(), precision);
  const std::int64_t s = w.sequence_length;
  const Plan plain = make_plan(small_llama(), w, Strategy{});
  for (const Packing packing : {Packing::kPacked, Packing::kPadded}) {
    w.documents = {packing, s / 2, {}};
    const Plan plan = make_plan(small_llama(), w, Strategy{});
    EXPECT_TRUE(passes(verify(small_llama(), plan, plan, precision), tolerance_of(precision)));
    EXPECT_GT(verify(small_llama(), plan, plain, precision).worst_error, 0.05);
  }
}

TEST(Documents, OfASequenceEachAreTheSequences) {
  const RunPrecision precision = RunPrecision::kFp64;
  Workload w = in_precision(small_workload(), precision);
  const Plan plain = make_plan(small_llama(), w, Strategy{});
  for (const Packing packing : {Packing::kPacked, Packing::kPadded}) {
    w.documents = {packing, w.sequence_length, {}};
    const Plan plan = make_plan(small_llama(), w, Strategy{});
    EXPECT_EQ(verify(small_llama(), plan, plain, precision).worst_error, 0);
  }
}

TEST(Documents, BehindTheFirstChangeNothingForItWherePaddingFollows) {
  // A document and padding, packed or padded: its tokens see the same keys, and only they count.
  const RunPrecision precision = RunPrecision::kFp64;
  Workload w = in_precision(small_workload(), precision);
  w.documents = {Packing::kPadded, w.sequence_length / 2, {}};
  const Plan padded = make_plan(small_llama(), w, Strategy{});
  w.documents = {Packing::kPacked, 0, {w.sequence_length / 2}};
  const Plan packed = make_plan(small_llama(), w, Strategy{});
  EXPECT_LT(verify(small_llama(), packed, padded, precision).worst_error, 1e-12);
}

/// The plan as if every rank counted all that it holds.
Plan counting_copies(Plan plan) {
  for (Tensor& t : plan.tensors) t.counted_once = {};
  return plan;
}

void expect_norm_matters(const Model& m, const Strategy& s) {
  const Plan right = split(m, s), reference = unsharded(m);
  const RunPrecision precision = RunPrecision::kFp64;
  EXPECT_TRUE(passes(verify(m, right, reference, precision), tolerance_of(precision)));
  // The gradients are right whatever the norm; the clip factor, and with it every first moment, is
  // not.
  const Verification wrong = verify(m, counting_copies(right), reference, precision);
  EXPECT_GT(wrong.gradient_norm, 1);  // clipping to 1 is active
  EXPECT_GT(wrong.worst_error, 1e-4);
  EXPECT_TRUE(wrong.worst_tensor.starts_with("first moment")) << wrong.worst_tensor;
}

TEST(GradientNorm, CountsWhatTensorParallelismReplicatesOnce) {
  Strategy s;
  s.mesh[Axis::kTp] = 4;
  expect_norm_matters(small_llama(), s);
}

TEST(GradientNorm, CountsATiedMatrixOnTwoStagesOnce) {
  Strategy s;
  s.mesh[Axis::kPp] = 2;
  expect_norm_matters(small_gpt(), s);
}

TEST(GradientNorm, CountsReplicatedPartsOfShardsOnce) {
  Strategy s;
  s.mesh[Axis::kTp] = 2, s.mesh[Axis::kFsdp] = 2;
  s.zero_stage = 3;
  expect_norm_matters(small_gpt(), s);
}

TEST(Bf16, ResultsAreBf16Numbers) {
  const Plan plan = unsharded(small_llama(), RunPrecision::kBf16);
  const ModelState state = run_steps(small_llama(), plan, RunPrecision::kBf16);
  const ModelState exact = run_steps(small_llama(), unsharded(small_llama()), RunPrecision::kFp64);
  // Rounding to 8 bits is seen, and is no more than the tolerance that splitting is given.
  const Verification v = compare(state, exact);
  EXPECT_GT(v.worst_error, 1e-4);
  EXPECT_LT(v.worst_error, 3e-2);
}

TEST(Bf16, SumsOverRanksAreBf16Numbers) {
  Workload w = small_workload();
  w.precision.gradients = w.precision.reduction = DType::kBf16;
  Strategy s;
  s.mesh[Axis::kDp] = 4;
  const ModelState state =
      run_steps(small_llama(), make_plan(small_llama(), w, s), RunPrecision::kBf16);
  for (const auto& [name, values] : state.gradients) {
    for (const double x : values.value) {
      float rounded = static_cast<float>(x);
      round_to(&rounded, 1, DType::kBf16);
      ASSERT_EQ(static_cast<double>(rounded), x) << name;
    }
  }
}

TEST(Bf16, RoundingKeepsEightBits) {
  float x[] = {1.0F + 0x1p-9F, 1.0F + 0x1p-7F, 3.0F};
  round_to(x, 3, DType::kBf16);
  EXPECT_EQ(x[0], 1.0F);
  EXPECT_EQ(x[1], 1.0F + 0x1p-7F);
  EXPECT_EQ(x[2], 3.0F);
  float y[] = {1.0F + 0x1p-20F};
  round_to(y, 1, DType::kFp32);
  EXPECT_EQ(y[0], 1.0F + 0x1p-20F);
}

/// One tensor may be off by more than the whole, and not the whole by what one may; a loss of other
/// tokens is another loss.
TEST(Bf16, WholeGradientIsHeldCloserThanATensor) {
  const Model model = matrix_models::qwen3();
  const Plan whole = unsharded(model, RunPrecision::kBf16);
  const ModelState expected = run_steps(model, whole, RunPrecision::kBf16);
  const Tolerance allowed = tolerance_of(RunPrecision::kBf16);
  const auto passes_with = [&](const std::string& part, double factor) {
    ModelState got = expected;
    for (auto& [name, values] : got.gradients) {
      if (name.find(part) == std::string::npos) continue;
      for (double& x : values.value) x *= factor;
    }
    return passes(compare(got, expected), allowed);
  };
  EXPECT_TRUE(passes_with("k_norm.gamma", 1.1));
  EXPECT_FALSE(passes_with("k_norm.gamma", 1.4));  // more than cancels
  EXPECT_FALSE(passes_with("", 1.1));
  Workload other = in_precision(small_workload(), RunPrecision::kBf16);
  other.documents = {Packing::kPadded, other.sequence_length / 2, {}};
  EXPECT_FALSE(passes(
      verify(model, make_plan(model, other, Strategy{}), whole, RunPrecision::kBf16), allowed));
}

/// Of 4 layers and one step 0.03. Rounding errors add up over layers as independent ones do, over
/// steps as equal ones, and no more is allowed than what a wrong gradient is off by.
TEST(Bf16, MoreIsAllowedOfLayersAndSteps) {
  const auto allowed = [](std::int64_t layers, int steps) {
    Model m = small_llama();
    m.layers = layers;
    return tolerance_of(RunPrecision::kBf16, m, unsharded(m, RunPrecision::kBf16), steps);
  };
  EXPECT_DOUBLE_EQ(allowed(2, 1).whole, 0.03);
  EXPECT_DOUBLE_EQ(allowed(4, 1).whole, 0.03);
  EXPECT_DOUBLE_EQ(allowed(16, 1).whole, 0.03 * 2);
  EXPECT_DOUBLE_EQ(allowed(16, 3).whole, 0.03 * 2 * 3);
  EXPECT_DOUBLE_EQ(allowed(16, 3).error, 0.3);
  EXPECT_FALSE(allowed(16, 3).vague);
  EXPECT_DOUBLE_EQ(allowed(16, 20).whole, 0.45);  // less than what half a gradient is off by
  EXPECT_DOUBLE_EQ(allowed(16, 20).error, 0.7);
  EXPECT_DOUBLE_EQ(allowed(16, 20).along, 0.45);
  EXPECT_TRUE(allowed(16, 20).vague);
}

/// Where a value that decides is off by e = 0.4 0.03, a fraction f of a gradient's terms is of
/// other signs (0.32 e for each layer) or experts (1.5 e, and one of all tokens): sqrt(f).
TEST(Bf16, MoreIsAllowedOfJumps) {
  Model m = small_llama();
  m.activation = ActivationKind::kRelu, m.gated_mlp = false;
  const auto allowed = [](const Model& model) {
    return tolerance_of(RunPrecision::kBf16, model, unsharded(model, RunPrecision::kBf16), 1).whole;
  };
  EXPECT_DOUBLE_EQ(allowed(m), 0.03 + std::sqrt(0.32 * 2 * 0.4 * 0.03));
  m.activation = ActivationKind::kSilu;
  m.experts = 4, m.experts_per_token = 2, m.expert_ffn_hidden = 8;
  EXPECT_DOUBLE_EQ(allowed(m), 0.03 + std::sqrt(1.5 * 2 * 0.4 * 0.03 + 1.0 / (8 * 8)));
  m.experts_per_token = 4;  // all of them: nothing is chosen
  EXPECT_DOUBLE_EQ(allowed(m), 0.03);
}

TEST(Bf16, OtherTypesAreRefused) {
  Workload w = small_workload();
  w.precision.weights = DType::kFp16;
  EXPECT_THROW(in_precision(w, RunPrecision::kBf16), InputError);
}

/// In double precision nothing is rounded to narrow types, so the casts, what is kept of them and
/// what travels must leave the gradients as they are.
void expect_right_tensors(const Model& model, const Precision& narrow, std::int64_t stages) {
  Workload w = small_workload();
  w.precision = narrow;
  const RunPrecision precision = RunPrecision::kFp64;
  for (const int stage : {1, 3}) {
    for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
      Strategy s;
      s.mesh[Axis::kPp] = stages, s.mesh[Axis::kDp] = 2, s.mesh[Axis::kTp] = 2;
      s.sequence_parallel = true;
      s.zero_stage = stage, s.recompute.kind = recompute;
      const Plan plan = make_plan(model, in_precision(w, precision), s);
      const Verification v = verify(model, plan, unsharded(model), precision);
      EXPECT_TRUE(passes(v, tolerance_of(precision)))
          << stage << ": " << v.worst_tensor << v.worst_error;
      EXPECT_EQ(v.held, v.planned);
    }
  }
}

TEST(Fp8, ReadsAndKeepsTheRightTensors) {
  Precision fp8 = small_workload().precision;
  fp8.matmul = DType::kFp8;
  expect_right_tensors(small_gpt(), fp8, 1);
}

TEST(Fp8, ByRowsReadsAndKeepsTheRightTensors) {
  Precision rows = small_workload().precision;
  rows.matmul = DType::kFp8, rows.scales = Scales::kRow;
  expect_right_tensors(small_gpt(), rows, 1);
}

TEST(Fp8, IsReadOnBothStagesThatHoldAPiece) {
  const RunPrecision precision = RunPrecision::kFp64;
  Workload w = small_workload();
  w.precision.matmul = DType::kFp8;
  w = in_precision(w, precision);
  for (const NarrowWeights narrow :
       {NarrowWeights::kNone, NarrowWeights::kKept, NarrowWeights::kGathered}) {
    w.precision.narrow_weights = narrow;
    Strategy s;
    s.mesh[Axis::kPp] = 2, s.mesh[Axis::kDp] = 2, s.zero_stage = 1;
    s.pipeline.schedule = Schedule::kDualPipe, s.pipeline.chunks = 2;
    Model model = matrix_models::llama();
    model.layers = 2;
    const Verification v =
        verify(model, make_plan(model, w, s), unsharded(model), precision, {.steps = 2});
    EXPECT_TRUE(passes(v, tolerance_of(precision))) << v.worst_tensor << v.worst_error;
    EXPECT_EQ(v.held, v.planned);
  }
}

/// Cast once a step and gathered, or cast and gathered for each use; of layers, of experts, of
/// modules that predict further tokens and of layers with states.
TEST(Fp8, WeightsThatAreKeptAndGatheredSoAreTheRightOnes) {
  const RunPrecision precision = RunPrecision::kFp64;
  Workload w = small_workload();
  w.precision.matmul = DType::kFp8;
  w = in_precision(w, precision);
  using namespace matrix_models;
  for (Model model : {gpt(), llama(), mixtral(), deepseek(), nemotron_h(), nemotron_moe(),
                      qwen3_next(), granite()}) {
    const bool hybrid = !model.layer_pattern.empty();
    model.tied_embeddings = false;
    if (!hybrid) model.layers = 2;
    if (!hybrid && !model.mlp_bias && model.experts == 0) model.mtp_layers = 1;
    for (const int variant : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const int stage = variant % 4;
      w.precision.narrow_weights = variant < 4 ? NarrowWeights::kGathered : NarrowWeights::kKept;
      for (const bool other : {false, true}) {
        Strategy s;
        const bool halves = other && model.layers % 2 == 0;
        s.mesh[Axis::kPp] = halves ? 2 : 1, s.mesh[Axis::kDp] = 2, s.mesh[Axis::kTp] = 2;
        if (model.experts > 0) s.mesh[Axis::kEp] = 2, s.mesh[Axis::kTp] = 1;
        s.sequence_parallel = s.mesh[Axis::kTp] > 1;
        s.zero_stage = stage, s.data.overlap = !other;
        s.fsdp.early_scales = other, s.fsdp.copies = other ? FsdpCopies::kFsdp2 : FsdpCopies::kNone;
        if (other) s.recompute.kind = Recompute::kFull;
        const Verification v =
            verify(model, make_plan(model, w, s), unsharded(model), precision, {.steps = 2});
        EXPECT_TRUE(passes(v, tolerance_of(precision)))
            << model.name << variant << other << v.worst_tensor << v.worst_error;
        EXPECT_EQ(v.held, v.planned);
      }
    }
  }
}

TEST(Fp8, IsNotRounded) {
  Workload w = small_workload();
  w.precision.matmul = DType::kFp8;
  EXPECT_THROW(in_precision(w, RunPrecision::kBf16), InputError);
}

// With a last layer that is not cast.
TEST(Nvfp4, ReadsAndKeepsTheRightTensors) {
  Precision nvfp4 = small_workload().precision;
  nvfp4.matmul = DType::kNvfp4;
  nvfp4.plain_last = 1;
  expect_right_tensors(small_llama(), nvfp4, 2);
}

/// Sequences of 64 tokens and rows that fill blocks of 16 on two tensor-parallel ranks.
Model wide_llama() {
  Model m = small_llama();
  m.layers = 1, m.hidden = 64, m.heads = m.kv_heads = 4, m.head_dim = 16, m.ffn_hidden = 64;
  m.max_positions = 64;
  return m;
}
Workload in_nvfp4() {
  Workload w = small_workload();
  w.sequence_length = 64;
  w.precision.matmul = DType::kNvfp4;
  return in_precision(w, RunPrecision::kBf16);
}

TEST(Nvfp4, IsRoundedInBf16ByWhatItsBlocksLose) {
  // Against the same plan without rounding: one plan errs, so half of the squares are allowed.
  const Plan plan = make_plan(wide_llama(), in_nvfp4(), Strategy{});
  Workload exact = in_nvfp4();
  exact.precision.matmul = DType::kBf16;
  const Verification v = compare(
      run_steps(wide_llama(), plan, RunPrecision::kBf16),
      run_steps(wide_llama(), make_plan(wide_llama(), exact, Strategy{}), RunPrecision::kBf16));
  const double allowed = tolerance_of(RunPrecision::kBf16, wide_llama(), plan, 1).error;
  EXPECT_LT(v.worst_error, allowed / std::sqrt(2.0));
  EXPECT_GT(v.worst_error, 0.05);  // a rounded operand alone loses 0.1
}

TEST(Nvfp4, RoundedGradientsOfShardsAreThoseOfTheWholeWithinWhatBlocksLose) {
  const RunPrecision precision = RunPrecision::kBf16;
  const Plan whole = make_plan(wide_llama(), in_nvfp4(), Strategy{});
  for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
    for (const int stage : {1, 3}) {
      Strategy s;
      s.mesh[Axis::kDp] = 2, s.mesh[Axis::kTp] = 2;
      s.sequence_parallel = true;
      s.zero_stage = stage, s.recompute.kind = recompute;
      const Plan plan = make_plan(wide_llama(), in_nvfp4(), s);
      const Verification v = verify(wide_llama(), plan, whole, precision);
      EXPECT_TRUE(passes(v, tolerance_of(precision, wide_llama(), plan, 1)))
          << stage << ": " << v.worst_tensor << " " << v.worst_error << " " << v.worst_cosine;
    }
  }
}

TEST(Verify, ReportsTheMemoryOfEveryRank) {
  Strategy s;
  s.mesh[Axis::kPp] = 2, s.mesh[Axis::kDp] = 2;
  const Plan plan = split(small_llama(), s);
  const Verification v = verify(small_llama(), plan, unsharded(small_llama()), RunPrecision::kFp64);
  ASSERT_EQ(v.held.size(), 4U);
  EXPECT_EQ(v.held, v.planned);
  EXPECT_NE(v.held[0], v.held[3]);  // the stages hold different things
}

TEST(Verify, SeesMissingElements) {
  ModelState expected;
  expected.gradients["a"] = {{3, 4}, {true, true}};
  ModelState got;
  EXPECT_EQ(compare(got, expected).worst_error, 1);
  got.gradients["a"] = {{3, 0}, {true, false}};
  EXPECT_DOUBLE_EQ(compare(got, expected).worst_error, 4.0 / 5.0);
  EXPECT_DOUBLE_EQ(compare(got, expected).worst_cosine, 3.0 / 5.0);
  got.gradients["a"] = {{3, std::nan("")}, {true, true}};
  EXPECT_EQ(compare(got, expected).worst_error, 1);
}

}  // namespace plait::verify_test
