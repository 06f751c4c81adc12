// Bytes per parameter of the training state (Rajbhandari et al. 2020, section 3.1; Megatron-LM
// keeps fp32 gradients): weights 2, gradients 4, master 4, moments 4 + 4.
#include "core/error.h"
#include "plan/memory.h"
#include "tests/model/small_hybrid.h"
#include "tests/plan/tiny.h"

namespace plait::units_test {

constexpr std::int64_t n = 4;
const std::int64_t kParameters = count_parameters(tiny_llama()).total(tiny_llama());

Plan plan_of(int zero_stage, bool weight_shard = false, Precision precision = {},
             Degrees degrees = {.dp = n}) {
  Strategy s = split(degrees, zero_stage);
  s.keep_weight_shard = weight_shard;
  Workload w = tiny_workload(degrees.dp * degrees.fsdp);
  w.precision = precision;
  return make_plan(tiny_llama(), w, s);
}

std::int64_t persistent(const Plan& plan, TensorClass kind) {
  std::int64_t sum = 0;
  for (const Tensor& t : plan.tensors) {
    if (!t.persistent || t.is_view() || t.kind != kind) continue;
    sum += t.bytes(plan.mesh).value * (t.scope == Scope::kLayer ? plan.layers : 1);
  }
  return sum;
}
void expect_bytes(const Plan& plan, std::int64_t weights, std::int64_t gradients,
                  std::int64_t optimizer) {
  EXPECT_EQ(persistent(plan, TensorClass::kWeight), weights);
  EXPECT_EQ(persistent(plan, TensorClass::kGradient), gradients);
  EXPECT_EQ(persistent(plan, TensorClass::kOptimizer), optimizer);
}

TEST(Zero0, KeepsEighteenBytesPerParameter) {
  expect_bytes(plan_of(0), 2 * kParameters, 4 * kParameters, 12 * kParameters);
}

TEST(Zero1, KeepsSixBytesAndAShareOfTwelve) {
  expect_bytes(plan_of(1), 2 * kParameters, 4 * kParameters, 12 * kParameters / n);
}

TEST(Zero2, KeepsTwoBytesAndAShareOfSixteen) {
  expect_bytes(plan_of(2), 2 * kParameters, 4 * kParameters / n, 12 * kParameters / n);
}

TEST(Zero3, KeepsAShareOfSixteenBytesWhenTheMasterIsTheOnlyCopy) {
  expect_bytes(plan_of(3), 0, 4 * kParameters / n, 12 * kParameters / n);
}

TEST(Zero3, KeepsAShareOfEighteenBytesWithAWeightShard) {
  expect_bytes(plan_of(3, true), 2 * kParameters / n, 4 * kParameters / n, 12 * kParameters / n);
}

TEST(HybridShard, ReplicasDoNotMakeSharesSmaller) {
  expect_bytes(plan_of(3, false, {}, {.dp = 2, .fsdp = n}), 0, 4 * kParameters / n,
               12 * kParameters / n);
}

TEST(Fp32Training, HasNoMasterCopy) {
  Precision p;
  p.weights = DType::kFp32;
  expect_bytes(plan_of(0, false, p), 4 * kParameters, 4 * kParameters, 8 * kParameters);
  expect_bytes(plan_of(3, false, p), 4 * kParameters / n, 4 * kParameters / n, 8 * kParameters / n);
}

// With shards of gradients each microbatch has a buffer that starts from zeros; else one buffer has
// the sum of them all.
TEST(EmbeddingGradient, IsAddedToASumUnlessEachMicrobatchHasABufferOfItsOwn) {
  for (const int stage : {0, 1, 2, 3}) {
    int scatters = 0;
    const Plan plan = plan_of(stage);
    for (const Block& block : plan.blocks) {
      for (const Op& op : block.ops) {
        const auto* compute = std::get_if<Compute>(&op.body);
        const auto* e = compute == nullptr ? nullptr : std::get_if<Embedding>(compute);
        if (e == nullptr || e->pass == Pass::kForward) continue;
        EXPECT_EQ(e->accumulate, stage < 2) << "ZeRO-" << stage;
        ++scatters;
      }
    }
    EXPECT_GT(scatters, 0);
  }
}

TEST(OptimizerState, IsAsLargeAsItsTypesSay) {
  Precision p;
  p.moments = DType::kBf16;
  expect_bytes(plan_of(0, false, p), 2 * kParameters, 4 * kParameters, (4 + 2 + 2) * kParameters);
}

TEST(OptimizerState, LowerHalvesCompleteTheWeights) {
  Precision p;
  p.split_master = true;
  expect_bytes(plan_of(0, false, p), 2 * kParameters, 4 * kParameters, (2 + 8) * kParameters);
  expect_bytes(plan_of(1, false, p), 2 * kParameters, 4 * kParameters, (2 + 8) * kParameters / n);
  EXPECT_THROW(plan_of(3, false, p), InputError) << "no weights beside their master";
  p.weights = DType::kFp16;
  EXPECT_THROW(plan_of(0, false, p), InputError) << "fp16 is no half of fp32";
}

TEST(OptimizerState, IsLiveForTheWholeStep) {
  const Plan plan = plan_of(3);
  const auto optimizer = static_cast<std::size_t>(TensorClass::kOptimizer);
  for (const MemoryPoint& p : live_memory(plan, 0, true).curve) {
    ASSERT_EQ(p.live[optimizer].value, 12 * kParameters / n);
  }
}

TEST(Zero2, LayersWriteTheirGradientsAfreshInEveryMicrobatch) {
  // Each microbatch has a buffer of its own; below stage 2 one buffer is added to.
  for (int stage : {1, 2}) {
    const Block backward = block_named(plan_of(stage), "layer.backward");
    for (const Op& op : backward.ops) {
      const Compute* c = std::get_if<Compute>(&op.body);
      const MatMul* g = c != nullptr ? std::get_if<MatMul>(c) : nullptr;
      if (g == nullptr || g->pass != Pass::kWeightGrad) continue;
      EXPECT_EQ(g->accumulate, stage < 2);
    }
  }
}

TEST(Zero2, TiedTableCollectsItsTwoGradientsFromZero) {
  Model m = tiny_llama();
  m.tied_embeddings = true;
  const Plan plan = make_plan(m, tiny_workload(2), split({.dp = 2}, 2));
  const Block head = block_named(plan, "head.backward");
  EXPECT_EQ(name_of(head.ops.front()), "fill");
  const Block embedding = block_named(plan, "embedding.backward");
  for (const Op& op : embedding.ops) EXPECT_NE(name_of(op), "fill");
}

TEST(Units, BufferIsPaddedToAMultipleOfItsShares) {
  Model m = tiny_llama();
  m.hidden = 15, m.head_dim = 5, m.heads = 3, m.kv_heads = 3, m.ffn_hidden = 7, m.vocab = 11;
  const Plan plan = make_plan(m, tiny_workload(4), split({.fsdp = 4}, 3));
  const std::int64_t embedding = 11 * 15;
  ASSERT_NE(embedding % 4, 0);
  EXPECT_EQ(tensor_named(plan, "embedding.weights").elements(plan.mesh), (embedding / 4 + 1) * 4);
  EXPECT_EQ(tensor_named(plan, "embedding.master").elements(plan.mesh), embedding / 4 + 1);
}

TEST(Units, ViewsFillTheirBufferWithoutGapOrOverlap) {
  const Plan plan = make_plan(tiny_gpt(), tiny_workload(1), split({.tp = 2}));
  std::int64_t offset = 0;
  for (const Tensor& t : plan.tensors) {
    if (!t.is_view() || plan.tensors[t.storage].name != "layer.weights") continue;
    EXPECT_EQ(t.offset, offset) << t.name;
    offset += t.elements(plan.mesh);
  }
  EXPECT_EQ(offset, tensor_named(plan, "layer.weights").elements(plan.mesh));
}

TEST(Units, EveryParameterCountsOnceInTheGradientNorm) {
  // Summed over the ranks that the norm's all_reduce runs over, the elements that count are those
  // of the model: a tied output matrix is no parameter of its own.
  Model m = tiny_gpt();
  ASSERT_TRUE(m.tied_embeddings);
  for (const Degrees d : {Degrees{.tp = 2}, Degrees{.pp = 2}, Degrees{.pp = 2, .tp = 2}}) {
    const Plan plan = make_plan(m, tiny_workload(2), split(d));
    std::int64_t counted = 0;
    for (std::int64_t rank = 0; rank < plan.mesh.world_size(); ++rank) {
      const Mesh::Coordinates at = plan.mesh.coordinates(rank);
      for (const Tensor& t : plan.tensors) {
        if (!t.is_view() || t.kind != TensorClass::kGradient) continue;
        const bool copy =
            (t.counted_once.has(Axis::kTp) && at[static_cast<std::size_t>(Axis::kTp)] > 0) ||
            (t.counted_once.has(Axis::kPp) && at[0] > 0);
        // With two layers on two stages each rank holds one layer; embedding and head are on the
        // first and the last.
        const bool layer = t.scope == Scope::kLayer;
        const bool embedding = plan.tensors[t.storage].name == "embedding.gradients";
        const bool here = layer || at[0] == (embedding ? 0 : d.pp - 1);
        const std::int64_t times = layer ? m.layers / d.pp : 1;
        if (here && !copy) counted += times * t.elements(plan.mesh);
      }
    }
    EXPECT_EQ(counted, count_parameters(m).total(m)) << "pp " << d.pp << " tp " << d.tp;
  }
}

// One that is read from drives hides behind the one before it if small and large ones alternate,
// between layers of two kinds too.
TEST(Units, ExpertsAreUpdatedBehindTheRestOfTheirLayerWhateverItsPartsAre) {
  for (const char* pattern : {"gaaga", "mamma"}) {
    Model m = small_hybrid(pattern);
    m.experts = 4, m.experts_per_token = 2, m.expert_ffn_hidden = 8;
    const Plan plan = make_plan(m, tiny_workload(2), split({.dp = 2}, 1));
    std::vector<std::pair<std::int32_t, bool>> updates;  // of which layer, of experts
    for_each_op(plan, 0, [&](const Call& call, const Op& op) {
      const Compute* c = std::get_if<Compute>(&op.body);
      if (c == nullptr || !std::holds_alternative<Adam>(*c)) return;
      const std::string& name = plan.tensors[op.operands.back().tensor].name;
      const bool of_experts = name.starts_with("experts");
      const bool of_layer = of_experts || name.find("layer") != std::string::npos;
      if (of_layer) updates.emplace_back(call.layer, of_experts);
    });
    ASSERT_EQ(std::ssize(updates), 2 * m.layers);
    for (std::size_t i = 0; i < updates.size(); i += 2) {
      EXPECT_EQ(updates[i], std::pair(updates[i + 1].first, false)) << pattern;
      EXPECT_TRUE(updates[i + 1].second) << pattern;
    }
  }
}

}  // namespace plait::units_test
