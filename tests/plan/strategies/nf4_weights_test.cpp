// Frozen matrices in 4 bits: what they take, where they are dequantised, what is gathered of them.
#include "model/presets.h"
#include "plan/memory.h"
#include "plan/validate.h"
#include "tests/plan/strategies/narrow_layers.h"

namespace plait::nf4_weights_test {

using namespace narrow_layers;

Workload quantized(bool nested = true) {
  Workload w = tiny_workload(4);
  w.lora.rank = 2;
  w.lora.frozen = FrozenWeights::kNf4, w.lora.double_quantized = nested;
  return w;
}
Plan plan_of(const Model& m, const Workload& w, Degrees degrees = {}, int zero_stage = 0,
             Recompute recompute = Recompute::kNone) {
  Strategy s = split(degrees, zero_stage);
  s.recompute.kind = recompute;
  Plan plan = make_plan(m, w, s);
  for (const PlanFault& fault : validate(plan)) ADD_FAILURE() << fault.text;
  return plan;
}

/// Bytes of a layer's frozen matrices, with their scales.
std::int64_t matrix_bytes(const Plan& plan) {
  std::int64_t n = 0;
  for (const Tensor& t : plan.tensors) {
    const bool stored = t.name.find("absmax") != std::string::npos || t.dtype == DType::kNf4;
    if (stored && t.persistent && !t.is_view()) n += t.bytes(plan.mesh).value;
  }
  return n;
}

// 4 bits, 8 for each 64, 32 for each 64 x 256, which is 0.127 bits of scales (QLoRA, section 3),
// and the mean of each of four matrices.
TEST(Nf4Weights, TakeFourBitsAndAnEighthForTheirScales) {
  Model m = *find_preset("llama-2-7b");
  m.layers = 2;
  Workload w = quantized();
  w.sequence_length = 8;
  const double n =
      static_cast<double>(m.hidden) * static_cast<double>(4 * m.hidden + 3 * m.ffn_hidden);
  EXPECT_EQ(static_cast<double>(matrix_bytes(plan_of(m, w))),
            n * (4 + 8.0 / 64 + 32.0 / (64 * 256)) / 8 + 4 * 4);
  w.lora.double_quantized = false;
  EXPECT_EQ(static_cast<double>(matrix_bytes(plan_of(m, w))), n * (4 + 32.0 / 64) / 8);
}

struct Restored {
  std::int64_t elements = 0, ops = 0;
};
Restored restored(const Plan& plan) {
  Restored out;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Compute* c = std::get_if<Compute>(&op.body);
    const Cast* cast = c ? std::get_if<Cast>(c) : nullptr;
    if (cast == nullptr || cast->from != DType::kNf4) return;
    out.elements += cast->elements, ++out.ops;
    EXPECT_EQ(plan.tensors[op.operands.back().tensor].scope, Scope::kCall);
    EXPECT_EQ(plan.tensors[op.operands.back().tensor].dtype, DType::kBf16);
  });
  return out;
}

// Forward, for the gradient of the input, and where the layer is recomputed once more; for each
// microbatch. The first layer's packed matrix has no gradient of its input unless it is recomputed.
TEST(Nf4Weights, AreRestoredInFrontOfEveryProduct) {
  const std::int64_t linear = 16 * 32 + 16 * 16 + 2 * 16 * 24 + 24 * 16, packed = 16 * 32;
  const Restored kept = restored(plan_of(tiny_llama(), quantized()));
  EXPECT_EQ(kept.elements, 4 * (2 * 2 * linear - packed));
  EXPECT_EQ(kept.ops, 4 * (2 * 2 * 4 - 1));
  const Restored again = restored(plan_of(tiny_llama(), quantized(), {}, 0, Recompute::kFull));
  EXPECT_EQ(again.elements, 4 * (3 * 2 * linear));
}

// One at a time: of all that is live, what one more layer adds is its stored matrices, its other
// weights, its adapters with their state, and what it keeps; no restored matrix.
TEST(Nf4Weights, OneRestoredMatrixIsLiveAtATime) {
  const auto restored_at_once = [](const Plan& plan) {
    std::int64_t live = 0, most = 0;
    const Block block = block_named(plan, "layer.forward");
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      for (const Operand& o : block.ops[i].operands) {
        if (!plan.tensors[o.tensor].name.ends_with(".dequantized")) continue;
        live += o.use == Use::kWrite ? 1 : -1;
        most = std::max(most, live);
      }
    }
    EXPECT_EQ(live, 0) << "each is read once";
    return most;
  };
  EXPECT_EQ(restored_at_once(plan_of(tiny_llama(), quantized())), 1);
}

// FSDP gathers half a byte for each element of matrices; scales are on every rank.
TEST(Nf4Weights, CodesAreGatheredAndScalesAreNot) {
  const auto gathered = [](const Workload& w) {
    return traffic(plan_of(tiny_llama(), w, {.fsdp = 2}, 3), 0, CollectiveKind::kAllGather,
                   Axis::kFsdp)
        .bytes;
  };
  Workload plain = quantized();
  plain.lora.frozen = FrozenWeights::kPlain;
  // Two microbatches, forward and backward of two layers.
  const auto elements = 2 * 2 * 2 * static_cast<std::int64_t>(kLinear);
  EXPECT_EQ(gathered(plain) - gathered(quantized()), 2 * elements - elements / 2);
  const Plan plan = plan_of(tiny_llama(), quantized(), {.fsdp = 2}, 3);
  EXPECT_EQ(tensor_named(plan, "layer.mlp_down.weight.absmax").elements(plan.mesh), 24 * 16 / 64);
}

TEST(Nf4Weights, WhatIsNotPlannedIsRefusedByName) {
  EXPECT_EQ(refusal_of(tiny_llama(), quantized(), split({.tp = 2})), "S165");
  Workload narrow = quantized();
  narrow.precision.matmul = DType::kFp8;
  EXPECT_EQ(refusal_of(tiny_llama(), narrow), "S165");
}

TEST(Nf4Weights, PlansAreExecutableWithOtherStrategies) {
  for (const Recompute r : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    for (const int stage : {0, 1, 2, 3})
      plan_of(tiny_llama(), quantized(stage == 1), {.pp = 2, .dp = 2}, stage, r);
  }
}

}  // namespace plait::nf4_weights_test
