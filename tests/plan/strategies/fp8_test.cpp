// Linear layers in fp8: which products, what is cast, what is kept, what travels.
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::fp8_test {

Plan plan_of(DType products, Degrees degrees = {}, int zero_stage = 0,
             Recompute recompute = Recompute::kNone) {
  Strategy s = split(degrees, zero_stage);
  s.sequence_parallel = degrees.tp > 1;
  s.recompute.kind = recompute;
  Workload w = tiny_workload(4);
  w.precision.matmul = products;
  return make_plan(tiny_llama(), w, s);
}

double product_flops(const Plan& plan, DType type) {
  return flops_of(plan,
                  [type](const Op& op) {
                    const MatMul* g = std::get_if<MatMul>(&std::get<Compute>(op.body));
                    return g != nullptr && g->in == type;
                  })
      .value;
}

/// Parameters of the four linear layers of tiny_llama's layer: h (h + 2 kv) + h h + 2 h f + f h.
constexpr double kLinear = 16 * 32 + 16 * 16 + 2 * 16 * 24 + 24 * 16;
constexpr double kTokens = 4 * 8;

TEST(Fp8, ReachesTheProductsOfTheLinearLayersAndNoOthers) {
  const Plan plan = plan_of(DType::kFp8);
  EXPECT_EQ(product_flops(plan, DType::kFp8), 3 * 2 * kTokens * 2 * kLinear);  // 2 layers, 3 passes
  EXPECT_EQ(product_flops(plan, DType::kBf16), 3 * 2 * kTokens * 16 * 32);     // the output matrix
  EXPECT_EQ(product_flops(plan_of(DType::kBf16), DType::kFp8), 0);
}

/// Elements cast from bf16 to fp8 in one step on one rank, tensors of weights or others.
std::int64_t cast_elements(const Plan& plan, bool weights) {
  std::int64_t n = 0;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Compute* c = std::get_if<Compute>(&op.body);
    const Cast* cast = c ? std::get_if<Cast>(c) : nullptr;
    if (cast == nullptr || cast->to != DType::kFp8) return;
    const bool of_weight = plan.tensors[op.operands[0].tensor].kind == TensorClass::kWeight;
    if (of_weight == weights) n += cast->elements;
  });
  return n;
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

/// Bytes that a layer's forward pass of one microbatch keeps for its backward pass.
std::int64_t kept(const Plan& plan) {
  const Block forward = block_named(plan, "layer.forward"),
              backward = block_named(plan, "layer.backward");
  std::vector<bool> read(plan.tensors.size());
  for (const Op& op : backward.ops) {
    for (const Operand& o : op.operands) read[o.tensor] = read[o.tensor] || o.use == Use::kRead;
  }
  std::int64_t bytes = 0;
  for (const Op& op : forward.ops) {
    for (const Operand& o : op.operands) {
      if (o.use == Use::kWrite && read[o.tensor]) {
        bytes += plan.tensors[o.tensor].bytes(plan.mesh).value, read[o.tensor] = false;
      }
    }
  }
  return bytes;
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
