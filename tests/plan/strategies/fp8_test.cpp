// Linear layers in fp8: which products, what is cast, what is kept, what travels.
#include <map>

#include "plan/memory.h"
#include "plan/validate.h"
#include "tests/plan/strategies/narrow_layers.h"

namespace plait::fp8_test {

using namespace narrow_layers;

Plan plan_of(DType products, Degrees degrees = {}, int zero_stage = 0,
             Recompute recompute = Recompute::kNone) {
  Strategy s = split(degrees, zero_stage);
  s.sequence_parallel = degrees.tp > 1;
  s.recompute.kind = recompute;
  Workload w = tiny_workload(4);
  w.precision.matmul = products;
  return make_plan(tiny_llama(), w, s);
}

TEST(Fp8, ReachesTheProductsOfTheLinearLayersAndNoOthers) {
  const Plan plan = plan_of(DType::kFp8);
  EXPECT_EQ(product_flops(plan, DType::kFp8), 3 * 2 * kTokens * 2 * kLinear);  // 2 layers, 3 passes
  EXPECT_EQ(product_flops(plan, DType::kBf16), 3 * 2 * kTokens * 16 * 32);     // the output matrix
  EXPECT_EQ(product_flops(plan_of(DType::kBf16), DType::kFp8), 0);
}

TEST(Fp8, CastsEachInputAndEachOutputGradientOnce) {
  // Inputs h, h, h, f wide; output gradients h + 2 kv, h, 2 f, h.
  const double widths = 3 * 16 + 24 + 32 + 16 + 2 * 24 + 16;
  EXPECT_EQ(static_cast<double>(cast_elements(plan_of(DType::kFp8), false)), 2 * kTokens * widths);
}

TEST(Fp8, CastsWeightsOnceAStepOrAtEachUseWhenTheyAreGathered) {
  EXPECT_EQ(static_cast<double>(cast_elements(plan_of(DType::kFp8), true)), 2 * kLinear);
  const Plan fsdp = plan_of(DType::kFp8, {.fsdp = 2}, 3);  // 2 microbatches, forward and backward
  EXPECT_EQ(static_cast<double>(cast_elements(fsdp, true)), 2 * 2 * 2 * kLinear);
}

// Both copies of a weight are there in backward, however many microbatches read them.
TEST(Fp8, KeepsBothCopiesOfWeightsForBackward) {
  for (const int stage : {0, 1}) {
    Workload w = tiny_workload(2);
    w.precision.matmul = DType::kFp8;
    const Plan plan = make_plan(tiny_llama(), w, split({.dp = 2}, stage));
    std::map<std::string, std::int64_t> last;
    for (const Stay& s : stays(plan, 0)) {
      if (s.layer == 0) last[plan.tensors[s.tensor].name] = s.last;
    }
    EXPECT_GT(last.at("layer.qkv.weight.fp8"), last.at("layer.mlp_up.weight.fp8")) << stage;
    EXPECT_EQ(last.at("layer.qkv.weight.fp8"), last.at("layer.qkv.weight.fp8_transposed")) << stage;
  }
}

TEST(Fp8, KeepsInputsInOneByteAndAttentionsOutputInBothTypes) {
  const std::int64_t tokens = 8, h = 16, f = 24;
  // Both norms' outputs and the MLP's inner activation shrink, the context is kept a second time.
  EXPECT_EQ(kept(plan_of(DType::kBf16)) - kept(plan_of(DType::kFp8)), tokens * (2 * h + f - h));
}

TEST(Fp8, GathersInputsAndOutputGradientsOfSequenceShardsInFp8) {
  const Plan plain = plan_of(DType::kBf16, {.tp = 2}), fp8 = plan_of(DType::kFp8, {.tp = 2});
  for (const char* name : {"layer.forward", "layer.backward"}) {
    const Volume a = traffic(block_named(plain, name), CollectiveKind::kAllGather, Axis::kTp);
    const Volume b = traffic(block_named(fp8, name), CollectiveKind::kAllGather, Axis::kTp);
    EXPECT_EQ(b, (Volume{a.count, a.bytes / 2})) << name;
    const auto scatters = [name](const Plan& p) {
      return traffic(block_named(p, name), CollectiveKind::kReduceScatter, Axis::kTp);
    };
    EXPECT_EQ(scatters(fp8), scatters(plain)) << name;
  }
}

TEST(Fp8, PlansAreExecutableWithEveryOtherStrategy) {
  for (const Recompute r :
       {Recompute::kNone, Recompute::kSelective, Recompute::kOps, Recompute::kFull}) {
    for (const int stage : {0, 1, 2, 3}) {
      const Plan plan = plan_of(DType::kFp8, {.pp = 2, .dp = 2, .tp = 2}, stage, r);
      for (const PlanFault& fault : validate(plan)) ADD_FAILURE() << stage << ": " << fault.text;
    }
  }
}

}  // namespace plait::fp8_test
