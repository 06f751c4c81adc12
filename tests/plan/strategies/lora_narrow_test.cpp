// Low-rank adapters beside frozen products in 8 and 4 bits: which products are narrow, what is
// cast, kept and gathered, and what frozen weights take that are kept narrow.
#include "plan/memory.h"
#include "plan/validate.h"
#include "tests/plan/strategies/narrow_layers.h"

namespace plait::lora_narrow_test {

using namespace narrow_layers;
using T = AdapterTarget;

constexpr std::int64_t kHidden = 16, kPacked = 32, kFfn = 24;  // of tiny_llama

Workload adapted(DType products, std::vector<T> targets = {}) {
  Workload w = tiny_workload(4);
  w.precision.matmul = products;
  w.lora.rank = 2;
  if (!targets.empty()) w.lora.targets = std::move(targets);
  return w;
}

Plan plan_of(const Workload& w, Degrees degrees = {}, int zero_stage = 0,
             Recompute recompute = Recompute::kNone) {
  Strategy s = split(degrees, zero_stage);
  s.sequence_parallel = degrees.tp > 1;
  s.recompute.kind = recompute;
  Plan plan = make_plan(tiny_llama(), w, s);
  for (const PlanFault& fault : validate(plan)) ADD_FAILURE() << fault.text;
  return plan;
}

// Forward and for the input's gradient, but for the first layer's packed one; factors stay in bf16.
TEST(LoraNarrow, FrozenProductsAreNarrowAndAdaptersAreNot) {
  const double linear = 2 * (2 * kLinear) - kHidden * kPacked;
  for (const DType type : {DType::kFp8, DType::kNvfp4}) {
    const Plan plan = plan_of(adapted(type)), plain = plan_of(adapted(DType::kBf16));
    EXPECT_EQ(product_flops(plan, type), 2 * kTokens * linear);
    EXPECT_EQ(product_flops(plan, DType::kBf16),
              product_flops(plain, DType::kBf16) - 2 * kTokens * linear);
  }
}

struct Casts {
  double elements = 0;
  std::int64_t bytes = 0;  // read and written
};
/// To `type`, in one step on one rank, of weights or of others.
Casts casts_of(const Plan& plan, DType type, bool weights) {
  Casts out;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Compute* c = std::get_if<Compute>(&op.body);
    const Cast* cast = c ? std::get_if<Cast>(c) : nullptr;
    if (cast == nullptr || cast->to != type) return;
    if ((plan.tensors[op.operands[0].tensor].kind == TensorClass::kWeight) != weights) return;
    out.elements += static_cast<double>(cast->elements);
    out.bytes += memory_traffic(*c).value;
    EXPECT_FALSE(cast->rotated);
  });
  return out;
}

// Inputs h, h, h, f wide; output gradients h + 2 kv, h, 2 f, h, of the first layer not the packed
// one's. No product reads the columns.
TEST(LoraNarrow, CastsRowsAlone) {
  const double widths = 3 * kHidden + kFfn + kPacked + kHidden + 2 * kFfn + kHidden;
  const double elements = kTokens * (2 * widths - kPacked);
  const Casts fp8 = casts_of(plan_of(adapted(DType::kFp8)), DType::kFp8, false);
  EXPECT_EQ(fp8.elements, elements);
  EXPECT_EQ(static_cast<double>(fp8.bytes), elements * (2 + 1));
  const Casts nvfp4 = casts_of(plan_of(adapted(DType::kNvfp4)), DType::kNvfp4, false);
  EXPECT_EQ(nvfp4.elements, elements);
  EXPECT_EQ(static_cast<double>(nvfp4.bytes), elements * (2 + 9.0 / 16));
}

// Once a step, into rows and columns; the first layer's packed weight into rows.
TEST(LoraNarrow, CastsFrozenWeightsOnceAStep) {
  const Casts fp8 = casts_of(plan_of(adapted(DType::kFp8)), DType::kFp8, true);
  EXPECT_EQ(fp8.elements, 2 * kLinear);
  EXPECT_EQ(static_cast<double>(fp8.bytes), 2 * kLinear * (2 + 1 + 1) - kHidden * kPacked);
  const Casts nvfp4 = casts_of(plan_of(adapted(DType::kNvfp4)), DType::kNvfp4, true);
  EXPECT_EQ(static_cast<double>(nvfp4.bytes),
            2 * kLinear * (2 + 2 * 9.0 / 16) - kHidden * kPacked * 9.0 / 16);
}

// A layer recomputed whole has a gradient of its input, so that all forms are read.
TEST(LoraNarrow, ARecomputedFirstLayerReadsBothFormsOfItsWeights) {
  const Plan plan = plan_of(adapted(DType::kFp8), {}, 0, Recompute::kFull);
  const Casts casts = casts_of(plan, DType::kFp8, true);
  EXPECT_EQ(static_cast<double>(casts.bytes), 2 * kLinear * (2 + 1 + 1));
}

TEST(LoraNarrow, KeepsWhatItKeepsInBf16) {
  for (const DType type : {DType::kFp8, DType::kNvfp4}) {
    for (const std::vector<T>& targets : {std::vector<T>{}, {T::kQkv}, {T::kDown}})
      EXPECT_EQ(kept(plan_of(adapted(type, targets))),
                kept(plan_of(adapted(DType::kBf16, targets))));
  }
}

// What an adapter reads too is gathered once, in bf16, and cast behind that; else it is gathered
// narrow. Backward, adapters of row-parallel layers alone read what is gathered.
TEST(LoraNarrow, GathersInputsOfAdaptersInTheWeightsType) {
  const auto gathers = [](DType type, std::vector<T> targets, const char* block) {
    const Plan plan = plan_of(adapted(type, std::move(targets)), {.tp = 2});
    return traffic(block_named(plan, block), CollectiveKind::kAllGather, Axis::kTp);
  };
  const std::int64_t tensor = 8 * kHidden;  // elements of a microbatch's norm or residual
  EXPECT_EQ(gathers(DType::kFp8, {}, "layer.forward"), (Volume{2, 2 * tensor * 2}));
  EXPECT_EQ(gathers(DType::kFp8, {T::kQkv}, "layer.forward"), (Volume{2, tensor * (2 + 1)}));
  EXPECT_EQ(gathers(DType::kFp8, {T::kOut}, "layer.forward"), (Volume{2, tensor * (1 + 1)}));
  // dy of out and down; and x of adapters of qkv and up again.
  for (const DType type : {DType::kFp8, DType::kBf16})
    EXPECT_EQ(gathers(type, {}, "layer.backward"), (Volume{4, 4 * tensor * 2}));
  EXPECT_EQ(gathers(DType::kFp8, {T::kOut}, "layer.backward"), (Volume{2, tensor * (2 + 1)}));
}

/// Bytes of weights that a rank has, of layers.
std::int64_t weight_bytes(const Plan& plan) {
  std::int64_t n = 0;
  for (const Tensor& t : plan.tensors) {
    const bool own = t.kind == TensorClass::kWeight && !t.is_view() && t.persistent;
    if (own && t.scope == Scope::kLayer) n += plan.layers * t.bytes(plan.mesh).value;
  }
  return n;
}

// One byte, or in two forms two, instead of two and two of narrow copies: nothing is cast when a
// step begins, and no magnitude is sent.
TEST(LoraNarrow, FrozenWeightsThatAreKeptNarrowAreNeverCast) {
  Workload w = adapted(DType::kFp8);
  const std::int64_t plain = weight_bytes(plan_of(w));
  const auto linear = static_cast<std::int64_t>(2 * kLinear);
  w.precision.narrow_weights = NarrowWeights::kGathered;
  const Plan one = plan_of(w, {.dp = 2}, 1);
  EXPECT_EQ(weight_bytes(one), plain - 2 * linear + linear);
  EXPECT_EQ(casts_of(one, DType::kFp8, true).elements, 2 * (2 * kLinear - kHidden * kPacked))
      << "of two microbatches, transposed for the gradients of inputs";
  EXPECT_EQ(casts_of(one, DType::kFp8, true).bytes,
            static_cast<std::int64_t>(casts_of(one, DType::kFp8, true).elements) * 2);
  w.precision.narrow_weights = NarrowWeights::kKept;
  const Plan both = plan_of(w, {.dp = 2}, 1);
  EXPECT_EQ(weight_bytes(both), plain - 2 * linear + 2 * linear);
  EXPECT_EQ(casts_of(both, DType::kFp8, true).elements, 0);
  for (const Plan* plan : {&one, &both}) {
    for (const Tensor& t : plan->tensors) EXPECT_EQ(t.name.find("magnitudes"), std::string::npos);
  }
}

// FSDP gathers frozen weights in 8 bits, forward and backward.
TEST(LoraNarrow, ShardsThatAreKeptNarrowAreGatheredInEightBits) {
  Workload w = adapted(DType::kFp8);
  const auto gathered = [&] {
    return traffic(plan_of(w, {.fsdp = 2}, 3), 0, CollectiveKind::kAllGather, Axis::kFsdp).bytes;
  };
  const std::int64_t plain = gathered();
  w.precision.narrow_weights = NarrowWeights::kGathered;
  // Two microbatches, forward and backward of two layers.
  EXPECT_EQ(plain - gathered(), 2 * 2 * 2 * static_cast<std::int64_t>(kLinear));
}

TEST(LoraNarrow, PlansAreExecutableWithEveryOtherStrategy) {
  for (const DType type : {DType::kFp8, DType::kNvfp4}) {
    for (const Recompute r : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
      for (const int stage : {0, 1, 2, 3})
        plan_of(adapted(type), {.pp = 2, .dp = 2, .tp = 2}, stage, r);
    }
  }
}

}  // namespace plait::lora_narrow_test
