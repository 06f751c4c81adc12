// Weights of linear layers that are kept, and gathered, in 8 bits: what travels, what is resident,
// what is cast when. tiny_llama: 2 layers of kLinear parameters in linear layers and two norms of h
// = 16; embedding and output matrix of 16 x 32, the last norm of 16.
#include "core/error.h"
#include "plan/memory.h"
#include "plan/validate.h"
#include "tests/plan/strategies/narrow_layers.h"

namespace plait::narrow_weights_test {

using namespace narrow_layers;

constexpr std::int64_t kLayers = 2, kMatrices = 4;  // qkv, output, gate and up, down
constexpr std::int64_t kNarrow = static_cast<std::int64_t>(kLinear);
constexpr std::int64_t kNorms = 2 * 16, kEnds = 16 * 32 + 16 * 32 + 16;

using enum NarrowWeights;

Workload in_fp8(NarrowWeights narrow_weights = kGathered) {
  Workload w = tiny_workload(4);
  w.precision.matmul = DType::kFp8;
  w.precision.narrow_weights = narrow_weights;
  return w;
}
Plan plan_of(Degrees degrees, int zero_stage, NarrowWeights narrow_weights = kGathered,
             bool early_scales = false) {
  Strategy s = split(degrees, zero_stage);
  s.sequence_parallel = degrees.tp > 1;
  s.fsdp.early_scales = early_scales;
  return make_plan(tiny_llama(), in_fp8(narrow_weights), s);
}

/// Bytes of all tensors of a class that a rank has for good.
std::int64_t resident(const Plan& plan, TensorClass kind) {
  std::int64_t out = 0;
  for (const Tensor& t : plan.tensors) {
    if (t.kind != kind || !t.persistent || t.is_view()) continue;
    out += t.bytes(plan.mesh).value * (t.scope == Scope::kLayer ? kLayers : 1);
  }
  return out;
}

/// Elements cast to fp8 from weights, from the master, and transposed, in a step of a rank.
struct Casts {
  std::int64_t of_weights = 0, of_master = 0, transposes = 0, magnitudes = 0;
  bool operator==(const Casts&) const = default;
};
Casts casts_of(const Plan& plan) {
  Casts out;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Compute* c = std::get_if<Compute>(&op.body);
    if (c == nullptr) return;
    if (const Amax* amax = std::get_if<Amax>(c)) out.magnitudes += amax->elements;
    const Cast* cast = std::get_if<Cast>(c);
    if (cast == nullptr || cast->to != DType::kFp8) return;
    const TensorClass from = plan.tensors[op.operands[0].tensor].kind;
    if (from == TensorClass::kOptimizer) out.of_master += cast->elements;
    if (from != TensorClass::kWeight) return;
    (cast->from == DType::kFp8 ? out.transposes : out.of_weights) += cast->elements;
  });
  return out;
}

TEST(NarrowWeights, AreGatheredInOneByteAndTheOthersInTwo) {
  const Volume whole =
      traffic(plan_of({.dp = 2}, 1, kNone), 0, CollectiveKind::kAllGather, Axis::kDp);
  EXPECT_EQ(whole.bytes, 2 * (kLayers * (kNarrow + kNorms) + kEnds));
  const Volume narrow = traffic(plan_of({.dp = 2}, 1), 0, CollectiveKind::kAllGather, Axis::kDp);
  EXPECT_EQ(narrow.bytes, kLayers * (kNarrow + 2 * kNorms) + 2 * kEnds);
}

TEST(NarrowWeights, AreResidentInOneByteBesideTheWholeMaster) {
  const Plan plan = plan_of({.dp = 2}, 1);
  EXPECT_EQ(resident(plan, TensorClass::kWeight), kLayers * (kNarrow + 2 * kNorms) + 2 * kEnds);
  // Master and moments of half of all parameters, 4 bytes each, as without it.
  EXPECT_EQ(resident(plan, TensorClass::kOptimizer),
            12 * (kLayers * (kNarrow + kNorms) + kEnds) / 2);
  EXPECT_EQ(resident(plan, TensorClass::kOptimizer),
            resident(plan_of({.dp = 2}, 1, kNone), TensorClass::kOptimizer));
}

TEST(NarrowWeights, AreNoUpperHalvesOfTheirMasterWhichIsWhole) {
  Workload w = in_fp8();
  w.precision.split_master = true;
  EXPECT_EQ(resident(make_plan(tiny_llama(), w, split({.dp = 2}, 1)), TensorClass::kOptimizer),
            resident(plan_of({.dp = 2}, 1), TensorClass::kOptimizer));
}

TEST(NarrowWeights, AreCastOnceAStepFromTheShardAndTransposedOnce) {
  for (const bool overlap : {false, true}) {
    Strategy s = split({.dp = 2}, 1);  // two microbatches
    s.data.overlap = overlap;
    EXPECT_EQ(casts_of(make_plan(tiny_llama(), in_fp8(), s)),
              (Casts{0, kLayers * kNarrow / 2, kLayers * kNarrow, kLayers * kNarrow / 2}));
  }
  // Otherwise the bf16 weights are cast, whole, into two copies.
  EXPECT_EQ(casts_of(plan_of({.dp = 2}, 1, kNone)), (Casts{kLayers * kNarrow, 0, 0, 0}));
}

TEST(NarrowWeights, HoldTwoBytesAParameterWhereCopiesOfOthersAddTwoToTwo) {
  const auto peak_weights = [](const Plan& plan) {
    const StageMemory m = live_memory(plan, 0);
    return m.by_class[static_cast<std::size_t>(TensorClass::kWeight)].value;
  };
  EXPECT_EQ(peak_weights(plan_of({}, 0)), kLayers * (2 * kNarrow + 2 * kNorms) + 2 * kEnds);
  EXPECT_EQ(peak_weights(plan_of({}, 0, kNone)), kLayers * (4 * kNarrow + 2 * kNorms) + 2 * kEnds);
}

TEST(NarrowWeights, ThatAreKeptOnlyPassInTheirOwnType) {
  const Plan kept = plan_of({.dp = 2}, 1, kKept), wide = plan_of({.dp = 2}, 1, kNone);
  EXPECT_EQ(traffic(kept, 0, CollectiveKind::kAllGather, Axis::kDp).bytes,
            traffic(wide, 0, CollectiveKind::kAllGather, Axis::kDp).bytes);
  EXPECT_EQ(resident(kept, TensorClass::kWeight), kLayers * 2 * kNorms + 2 * kEnds);
  EXPECT_EQ(resident(kept, TensorClass::kOptimizer), resident(wide, TensorClass::kOptimizer));
  // Both forms are made of what has come; nothing is scaled beside the master.
  EXPECT_EQ(casts_of(kept), casts_of(wide));
  EXPECT_EQ(traffic(kept, 0, CollectiveKind::kAllReduce, Axis::kDp), Volume{});
}

TEST(NarrowWeights, ThatAreKeptGoLayerByLayerWhereTheyAreCast) {
  // Without a gather all are cast from the master when the step begins, and the first backward pass
  // has their copies alone.
  const Plan plan = plan_of({}, 0, kKept);
  for (const Stay& s : stays(plan, 0)) {
    if (plan.tensors[s.tensor].name != "layer_matrices.weights") continue;
    const Call* last = nullptr;
    std::int64_t flat = 0;
    for (const Call& call : plan.programs[0].calls) {
      if (flat <= s.last) last = &call;
      flat += static_cast<std::int64_t>(plan.blocks[call.block].ops.size());
    }
    ASSERT_NE(last, nullptr);
    EXPECT_EQ(plan.blocks[last->block].name, "layer.cast_weights");
  }
}

TEST(NarrowWeights, MeetTheirMagnitudesOnceAStepInOneMessage) {
  EXPECT_EQ(traffic(plan_of({.dp = 2}, 1), 0, CollectiveKind::kAllReduce, Axis::kDp),
            (Volume{1, 4 * kLayers * kMatrices}));
  // Every rank has all of the master.
  EXPECT_EQ(traffic(plan_of({}, 0), 0, CollectiveKind::kAllReduce, Axis::kDp), Volume{});
}

TEST(NarrowWeights, OfShardedParametersAreCastForEachGather) {
  // 2 microbatches, forward and backward.
  const std::int64_t gathers = 2 * 2 * kLayers;
  const Plan plan = plan_of({.fsdp = 2}, 3);
  const std::int64_t of_ends =
      traffic(plan_of({.fsdp = 2}, 3, kNone), 0, CollectiveKind::kAllGather, Axis::kFsdp).bytes -
      gathers * 2 * (kNarrow + kNorms);
  EXPECT_EQ(traffic(plan, 0, CollectiveKind::kAllGather, Axis::kFsdp).bytes,
            gathers * (kNarrow + 2 * kNorms) + of_ends);
  // Half of a layer is this rank's; backward passes alone read transposes.
  EXPECT_EQ(casts_of(plan),
            (Casts{0, gathers * kNarrow / 2, gathers / 2 * kNarrow, gathers * kNarrow / 2}));
  EXPECT_EQ(resident(plan, TensorClass::kWeight), 0);
}

TEST(NarrowWeights, OfShardedParametersAreScaledEachByItselfOrAllAtOnce) {
  const std::int64_t gathers = 2 * 2 * kLayers;
  EXPECT_EQ(traffic(plan_of({.fsdp = 2}, 3), 0, CollectiveKind::kAllReduce, Axis::kFsdp),
            (Volume{gathers * kMatrices, 4 * gathers * kMatrices}));
  const Plan early = plan_of({.fsdp = 2}, 3, kGathered, true);
  EXPECT_EQ(traffic(early, 0, CollectiveKind::kAllReduce, Axis::kFsdp),
            (Volume{1, 4 * kLayers * kMatrices}));
  EXPECT_EQ(casts_of(early).magnitudes, kLayers * kNarrow / 2);
}

TEST(NarrowWeights, OfExpertsAreScaledExpertByExpertOverTheirOwnReplicas) {
  Model m = tiny_llama();
  m.experts = 4, m.experts_per_token = 2, m.expert_ffn_hidden = 24;
  Strategy s = split({.dp = 2}, 1);
  s.mesh[Axis::kEp] = 2;
  const Plan plan = make_plan(m, in_fp8(), s);
  // qkv and output over all four ranks; two experts of two matrices over the two that have them.
  EXPECT_EQ(traffic(plan, 0, CollectiveKind::kAllReduce, AxisSet(Axis::kDp) | Axis::kEp),
            (Volume{1, 4 * kLayers * 2}));
  EXPECT_EQ(traffic(plan, 0, CollectiveKind::kAllReduce, Axis::kDp),
            (Volume{1, 4 * kLayers * 2 * 2}));
  // The router is read as it is.
  EXPECT_EQ(tensor_named(plan, "layer.router.weight").dtype, DType::kBf16);
}

TEST(NarrowWeights, ChangeNothingWhereProductsAreNotNarrowed) {
  Workload w = tiny_workload(4);
  const Plan plain = make_plan(tiny_llama(), w, split({.dp = 2}, 1));
  w.precision.narrow_weights = kGathered;
  const Plan same = make_plan(tiny_llama(), w, split({.dp = 2}, 1));
  ASSERT_EQ(plain.tensors.size(), same.tensors.size());
  EXPECT_EQ(op_count(plain), op_count(same));
}

TEST(NarrowWeights, PlansAreExecutableWithEveryOtherStrategy) {
  for (const Recompute r :
       {Recompute::kNone, Recompute::kSelective, Recompute::kOps, Recompute::kFull}) {
    for (const int stage : {0, 1, 2, 3}) {
      for (const bool early : {false, true}) {
        const NarrowWeights narrow = early && stage < 3 ? kKept : kGathered;
        Strategy s = split({.pp = 2, .dp = 2, .tp = 2}, stage);
        s.sequence_parallel = true;
        s.recompute.kind = r, s.fsdp.early_scales = early;
        s.fsdp.copies = early ? FsdpCopies::kFsdp2 : FsdpCopies::kNone;
        const Plan plan = make_plan(tiny_llama(), in_fp8(narrow), s);
        for (const PlanFault& fault : validate(plan)) ADD_FAILURE() << stage << ": " << fault.text;
      }
    }
  }
}

TEST(NarrowProducts, AreOfCopiesThatEachOfBothStagesOfAPieceMakes) {
  Strategy s = split({.pp = 2, .dp = 2}, 1);
  s.pipeline.schedule = Schedule::kDualPipe, s.pipeline.chunks = 2;
  Workload w = in_fp8(kNone);
  w.global_batch = 8;  // two microbatches each way
  const Plan plan = make_plan(tiny_llama(), w, s);
  for (const PlanFault& fault : validate(plan)) ADD_FAILURE() << fault.text;
  for (std::size_t stage = 0; stage < 2; ++stage) {
    std::int64_t casts = 0;
    for (const Call& call : plan.programs[stage].calls) {
      if (plan.blocks[call.block].name == "layer.cast_weights") ++casts;
    }
    EXPECT_EQ(casts, kLayers);  // two pieces of a layer, once a step
  }
}

std::string code_of(const Workload& w, const Strategy& s) { return refusal_of(tiny_llama(), w, s); }

TEST(NarrowWeights, AreRefusedWhereScalesAreNotOneForEachWeight) {
  Workload nvfp4 = in_fp8(), plain = in_fp8();
  nvfp4.precision.matmul = DType::kNvfp4;
  plain.precision.plain_last = 1;
  for (const Workload& w : {nvfp4, plain}) EXPECT_EQ(code_of(w, split({.dp = 2}, 1)), "S137");
  EXPECT_EQ(code_of(in_fp8(), split({.dp = 2}, 1)), "");
}

TEST(NarrowWeights, AreRefusedBesideOtherCopiesOfThem) {
  Strategy kept = split({.fsdp = 2}, 3), quantised = kept, offloaded = split({.dp = 2}, 1);
  kept.keep_weight_shard = true;
  quantised.zero_plus_plus.quantized_weights = true;
  offloaded.offload.optimizer = Offload::kCpu;
  for (const Strategy& s : {kept, quantised, offloaded}) EXPECT_EQ(code_of(in_fp8(), s), "S138");
}

}  // namespace plait::narrow_weights_test
