// Linear layers in fp8 with a scale for each row along a product's k: what is cast, kept and
// gathered, and what they are not planned beside. tiny_llama: 2 layers, h = 16, f = 24.
#include "plan/validate.h"
#include "tests/plan/strategies/narrow_layers.h"

namespace plait::row_scales_test {

using namespace narrow_layers;

Workload in_fp8(Scales scales) {
  Workload w = tiny_workload(4);
  w.precision.matmul = DType::kFp8;
  w.precision.scales = scales;
  return w;
}
Plan plan_of(Scales scales, Degrees degrees = {}, int zero_stage = 0,
             Recompute recompute = Recompute::kNone) {
  Strategy s = split(degrees, zero_stage);
  s.sequence_parallel = degrees.tp > 1;
  s.recompute.kind = recompute;
  return make_plan(tiny_llama(), in_fp8(scales), s);
}

TEST(RowScales, EachProductCastsBothOfItsOperands) {
  // Inputs h, h, h, f wide, twice; output gradients h + 2 kv, h, 2 f, h wide, twice. Weights
  // forward and for the input's gradient, in each of 4 microbatches.
  const std::int64_t widths = 2 * (3 * 16 + 24) + 2 * (32 + 16 + 2 * 24 + 16);
  const Plan plan = plan_of(Scales::kRow);
  EXPECT_EQ(cast_elements(plan, true), 4 * 2 * 2 * static_cast<std::int64_t>(kLinear));
  EXPECT_EQ(cast_elements(plan, false), 2 * 32 * widths);
}

TEST(RowScales, GradientsAloneAreMultipliedByTheirScales) {
  std::int64_t rescaled = 0, linear = 0;
  for_each_op(plan_of(Scales::kRow), 0, [&](const Call&, const Op& op) {
    const Compute* c = std::get_if<Compute>(&op.body);
    const MatMul* g = c ? std::get_if<MatMul>(c) : nullptr;
    if (g == nullptr || g->in != DType::kFp8) return;
    ++linear;
    rescaled += g->rescaled;
    EXPECT_EQ(g->rescaled, g->pass != Pass::kForward);
  });
  EXPECT_EQ(linear, 4 * 2 * 4 * 3);  // microbatches, layers, linear layers, passes
  EXPECT_EQ(rescaled, linear * 2 / 3);
}

TEST(RowScales, InputsAreKeptInTheWeightsType) {
  EXPECT_EQ(kept(plan_of(Scales::kRow)),
            kept(make_plan(tiny_llama(), tiny_workload(4), split({}))));
  EXPECT_GT(kept(plan_of(Scales::kRow)), kept(plan_of(Scales::kTensor)));
}

TEST(RowScales, SequenceShardsAreGatheredInTheWeightsType) {
  const Plan rows = plan_of(Scales::kRow, {.tp = 2}), whole = plan_of(Scales::kTensor, {.tp = 2});
  for (const char* name : {"layer.forward", "layer.backward"}) {
    const Volume a = traffic(block_named(rows, name), CollectiveKind::kAllGather, Axis::kTp);
    const Volume b = traffic(block_named(whole, name), CollectiveKind::kAllGather, Axis::kTp);
    EXPECT_EQ(a, (Volume{b.count, 2 * b.bytes})) << name;
  }
}

TEST(RowScales, PlansAreExecutableWithEveryOtherStrategy) {
  for (const Recompute r :
       {Recompute::kNone, Recompute::kSelective, Recompute::kOps, Recompute::kFull}) {
    for (const int stage : {0, 1, 2, 3}) {
      const Plan plan = plan_of(Scales::kRow, {.pp = 2, .dp = 2, .tp = 2}, stage, r);
      for (const PlanFault& fault : validate(plan)) ADD_FAILURE() << stage << ": " << fault.text;
    }
  }
}

TEST(RowScales, AreOfLinearLayersInFp8Alone) {
  Workload w = in_fp8(Scales::kRow);
  EXPECT_EQ(refusal_of(tiny_llama(), w, split({})), "");
  w.lora.rank = 2;
  EXPECT_EQ(refusal_of(tiny_llama(), w, split({})), "S197");
  w = in_fp8(Scales::kRow), w.precision.matmul = DType::kNvfp4;
  EXPECT_EQ(refusal_of(tiny_llama(), w, split({})), "S197");
  w = in_fp8(Scales::kRow), w.precision.narrow_weights = NarrowWeights::kGathered;
  EXPECT_EQ(refusal_of(tiny_llama(), w, split({.fsdp = 2}, 3)), "S197");
}

}  // namespace plait::row_scales_test
