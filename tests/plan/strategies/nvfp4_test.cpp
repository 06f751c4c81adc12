// Linear layers in nvfp4: which products, what is cast into how many copies, what is kept, what
// travels; and layers at the ends that stay in the weights' type.
#include "core/error.h"
#include "plan/validate.h"
#include "tests/plan/strategies/narrow_layers.h"

namespace plait::nvfp4_test {

using namespace narrow_layers;

Plan plan_of(const Precision& precision, Degrees degrees = {}, int zero_stage = 0,
             Recompute recompute = Recompute::kNone, std::int64_t layers = 2) {
  Strategy s = split(degrees, zero_stage);
  s.sequence_parallel = degrees.tp > 1;
  s.recompute.kind = recompute;
  Workload w = tiny_workload(4);
  w.precision = precision;
  return make_plan(tiny_llama(layers), w, s);
}
Precision nvfp4(std::int64_t plain_first = 0, std::int64_t plain_last = 0) {
  Precision p;
  p.matmul = DType::kNvfp4, p.plain_first = plain_first, p.plain_last = plain_last;
  return p;
}

TEST(Nvfp4, ReachesTheProductsOfTheLinearLayersAndNoOthers) {
  const Plan plan = plan_of(nvfp4());
  EXPECT_EQ(product_flops(plan, DType::kNvfp4), 3 * 2 * kTokens * 2 * kLinear);
  EXPECT_EQ(product_flops(plan, DType::kBf16), 3 * 2 * kTokens * 16 * 32);  // the output matrix
}

TEST(Nvfp4, LeavesPlainLayersInTheWeightsType) {
  // Of 5 layers the first and the last two.
  const Plan plan = plan_of(nvfp4(1, 2), {}, 0, Recompute::kNone, 5);
  EXPECT_EQ(product_flops(plan, DType::kNvfp4), 3 * 2 * kTokens * 2 * kLinear);
  EXPECT_EQ(product_flops(plan, DType::kBf16), 3 * 2 * kTokens * (3 * kLinear + 16 * 32));
  for (const PlanFault& fault : validate(plan)) ADD_FAILURE() << fault.text;
}

TEST(Nvfp4, IsGoneWhereAllLayersArePlain) {
  const Plan all = plan_of(nvfp4(0, 2)), none = plan_of(Precision{});
  EXPECT_EQ(product_flops(all, DType::kNvfp4), 0);
  EXPECT_EQ(op_count(all), op_count(none));
}

TEST(Nvfp4, HasNoMorePlainLayersThanLayers) { EXPECT_THROW(plan_of(nvfp4(1, 2)), InputError); }

struct Casts {
  std::int64_t elements = 0, written = 0, rotated = 0;
};
/// Of one step on one rank, of weights or others: elements, those of all copies, and those of which
/// one copy is rotated.
Casts casts_of(const Plan& plan, bool weights) {
  Casts out;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Compute* c = std::get_if<Compute>(&op.body);
    const Cast* cast = c ? std::get_if<Cast>(c) : nullptr;
    if (cast == nullptr || cast->to != DType::kNvfp4) return;
    if ((plan.tensors[op.operands[0].tensor].kind == TensorClass::kWeight) != weights) return;
    out.elements += cast->elements, out.written += cast->copies * cast->elements;
    out.rotated += cast->rotated ? cast->elements : 0;
    EXPECT_EQ(std::ssize(op.operands), 1 + cast->copies);
  });
  return out;
}

TEST(Nvfp4, CastsEachInputAndEachOutputGradientOnceIntoRowsAndRotatedColumns) {
  // Inputs h, h, h, f wide; output gradients h + 2 kv, h, 2 f, h.
  const double widths = 3 * 16 + 24 + 32 + 16 + 2 * 24 + 16;
  const Casts casts = casts_of(plan_of(nvfp4()), false);
  EXPECT_EQ(static_cast<double>(casts.elements), 2 * kTokens * widths);
  EXPECT_EQ(casts.written, 2 * casts.elements);
  EXPECT_EQ(casts.rotated, casts.elements);
}

TEST(Nvfp4, CastsWeightsOnceAStepIntoTwoCopiesOrAtEachUseIntoOneWhenTheyAreGathered) {
  const Casts once = casts_of(plan_of(nvfp4()), true);
  EXPECT_EQ(static_cast<double>(once.elements), 2 * kLinear);
  EXPECT_EQ(once.written, 2 * once.elements);
  const Casts fsdp = casts_of(plan_of(nvfp4(), {.fsdp = 2}, 3), true);
  EXPECT_EQ(static_cast<double>(fsdp.elements), 2 * 2 * 2 * kLinear);  // 2 microbatches, 2 passes
  EXPECT_EQ(fsdp.written, fsdp.elements);
  EXPECT_EQ(once.rotated + fsdp.rotated, 0);
}

TEST(Nvfp4, KeepsInputsInNineSixteenthsOfAByteAndAttentionsOutputInBothTypes) {
  const std::int64_t tokens = 8, h = 16, f = 24;
  // 2 bytes of both norms' outputs and of the MLP's inner activation go, all four inputs' copies
  // come.
  EXPECT_EQ(kept(plan_of(nvfp4())) - kept(plan_of(Precision{})),
            9 * tokens * (3 * h + f) / 16 - 2 * tokens * (2 * h + f));
}

TEST(Nvfp4, GathersRowsForwardAndColumnsOfInputsAndBothOfOutputGradientsBackward) {
  const Plan plain = plan_of(Precision{}, {.tp = 2}), narrow = plan_of(nvfp4(), {.tp = 2});
  const auto gathers = [](const Plan& p, const char* name) {
    return traffic(block_named(p, name), CollectiveKind::kAllGather, Axis::kTp);
  };
  const Volume forward = gathers(plain, "layer.forward");  // both norms' outputs
  EXPECT_EQ(gathers(narrow, "layer.forward"), (Volume{forward.count, forward.bytes * 9 / 32}));
  // Plain: these again, and as much of the gradients of attention's and the MLP's results.
  const Volume backward = gathers(plain, "layer.backward");
  EXPECT_EQ(backward, (Volume{2 * forward.count, 2 * forward.bytes}));
  EXPECT_EQ(gathers(narrow, "layer.backward"),
            (Volume{3 * forward.count, 3 * forward.bytes * 9 / 32}));
  for (const char* name : {"layer.forward", "layer.backward"}) {
    const auto scatters = [name](const Plan& p) {
      return traffic(block_named(p, name), CollectiveKind::kReduceScatter, Axis::kTp);
    };
    EXPECT_EQ(scatters(narrow), scatters(plain)) << name;
  }
}

TEST(Nvfp4, PlansAreExecutableWithEveryOtherStrategy) {
  for (const Recompute r :
       {Recompute::kNone, Recompute::kSelective, Recompute::kOps, Recompute::kFull}) {
    for (const int stage : {0, 1, 2, 3}) {
      const Plan plan = plan_of(nvfp4(0, 1), {.pp = 2, .dp = 2, .tp = 2}, stage, r, 4);
      for (const PlanFault& fault : validate(plan)) ADD_FAILURE() << stage << ": " << fault.text;
    }
  }
}

}  // namespace plait::nvfp4_test
