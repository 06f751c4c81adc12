// Data parallelism, ZeRO and FSDP: what travels in a step. Bytes: weights 2, gradients 4.
#include <algorithm>
#include <map>
#include <set>

#include "plan/strategies/data_parallel.h"
#include "tests/plan/tiny.h"

namespace plait::data_test {

constexpr CollectiveKind kReduce = CollectiveKind::kAllReduce;
constexpr CollectiveKind kGather = CollectiveKind::kAllGather;
constexpr CollectiveKind kScatter = CollectiveKind::kReduceScatter;

const ParameterCount kCount = count_parameters(tiny_llama());
const std::int64_t kLayers = tiny_llama().layers;
const std::int64_t kUnits = kLayers + 2;  // embedding, layers, head
const std::int64_t kParameters = kCount.total(tiny_llama());

/// `microbatches` of one sequence on each of two data-parallel ranks.
Plan plan_of(Strategy s, std::int64_t microbatches) {
  const std::int64_t replicas = s.mesh.size_of(AxisSet(Axis::kDp) | Axis::kFsdp);
  return make_plan(tiny_llama(), tiny_workload(microbatches * replicas), s);
}

std::vector<std::size_t> calls_of(const Plan& plan, std::string_view block) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < plan.programs[0].calls.size(); ++i) {
    if (plan.blocks[plan.programs[0].calls[i].block].name == block) out.push_back(i);
  }
  return out;
}

TEST(DataParallel, AllReducesEveryGradientByteOnceAStep) {
  for (std::int64_t microbatches : {1, 3}) {
    const Plan plan = plan_of(split({.dp = 2}), microbatches);
    EXPECT_EQ(traffic(plan, 0, kReduce, Axis::kDp).bytes, 4 * kParameters) << microbatches;
  }
}

TEST(DataParallel, ReducesInTheLastMicrobatchOnly) {
  const Plan plan = plan_of(split({.dp = 2}), 3);
  ASSERT_FALSE(calls_of(plan, "grad_sync").empty());
  for (std::size_t c : calls_of(plan, "grad_sync")) {
    EXPECT_EQ(plan.programs[0].calls[c].microbatch, 3 - 1);
  }
}

TEST(DataParallel, FullBucketsAreReducedInTheOrderOfTheBackwardPass) {
  Strategy s = split({.dp = 2});
  s.data.bucket = Bytes(4 * kCount.layer);
  ASSERT_LT(kCount.head, kCount.layer);
  const Plan plan = plan_of(s, 1);
  std::vector<std::int64_t> elements;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    if (const auto* c = std::get_if<Collective>(&op.body)) elements.push_back(c->elements);
  });
  // The head alone does not fill a bucket; with the last layer it does; the first layer does; the
  // embedding is what is left.
  const std::vector<std::int64_t> expected = {kCount.head + kCount.layer, kCount.layer,
                                              kCount.embedding};
  EXPECT_EQ(elements, expected);
}

TEST(DataParallel, AUnitLargerThanTheBucketGoesInPiecesOfWholeParameters) {
  Strategy s = split({.dp = 2});
  s.data.bucket = Bytes(1);
  const std::int64_t tensors =
      1 + kLayers * (2 + 4) + 2;  // table; norms, projections; norm, matrix
  EXPECT_EQ(traffic(plan_of(s, 1), 0, kReduce, Axis::kDp), (Volume{tensors, 4 * kParameters}));
}

TEST(DataParallel, OverlappedReductionStartsBeforeBackwardEnds) {
  Strategy s = split({.dp = 2});
  s.data.bucket = Bytes(4 * kCount.layer);
  const Plan plan = plan_of(s, 1);
  EXPECT_LT(calls_of(plan, "grad_sync").front(), calls_of(plan, "layer.backward").back());
}

TEST(DataParallel, WithoutOverlapEveryReductionWaitsForTheWholeBackwardPass) {
  Strategy s = split({.dp = 2});
  s.data.bucket = Bytes(4 * kCount.layer);
  s.data.overlap = false;
  const Plan plan = plan_of(s, 1);
  const std::size_t last = calls_of(plan, "embedding.backward").back();
  for (std::size_t c : calls_of(plan, "grad_sync")) {
    EXPECT_GT(c, last);
    EXPECT_EQ(plan.programs[0].calls[c].after, static_cast<std::int32_t>(last));
  }
}

TEST(DataParallel, GradientsTravelInTheTypeOfTheReduction) {
  Workload w = tiny_workload(2);
  w.precision.reduction = DType::kBf16;
  const Plan plan = make_plan(tiny_llama(), w, split({.dp = 2}));
  EXPECT_EQ(traffic(plan, 0, kReduce, Axis::kDp).bytes, 2 * kParameters);
}

TEST(Zero1, ScattersGradientsAndGathersWeightsOnceAStep) {
  // Rajbhandari et al. 2020, section 7.1: the volume of an all_reduce, in two halves.
  for (bool overlap : {true, false}) {
    Strategy s = split({.dp = 2}, 1);
    s.data.overlap = overlap;
    const Plan plan = plan_of(s, 3);
    EXPECT_EQ(traffic(plan, 0, kScatter, Axis::kDp).bytes, 4 * kParameters);
    EXPECT_EQ(traffic(plan, 0, kGather, Axis::kDp), (Volume{kUnits, 2 * kParameters}));
    EXPECT_EQ(traffic(plan, 0, kReduce, Axis::kDp), Volume{});
  }
}

TEST(Zero1, GathersWeightsAheadOfThePassesOrBehindTheOptimizer) {
  const auto gathers_first = [](bool overlap, bool overlap_gathers) {
    Strategy s = split({.dp = 2}, 1);
    s.data.overlap = overlap, s.data.overlap_gathers = overlap_gathers;
    const Plan plan = plan_of(s, 3);
    const std::vector<std::size_t> gathers = calls_of(plan, "param_gather");
    EXPECT_EQ(gathers.size(), static_cast<std::size_t>(kUnits));
    const std::size_t update = calls_of(plan, "optimizer").front();
    EXPECT_EQ(gathers.back() < update, gathers.front() < update);
    return gathers.front() < update;
  };
  EXPECT_TRUE(gathers_first(true, true));
  EXPECT_FALSE(gathers_first(true, false));
  EXPECT_FALSE(gathers_first(false, true));
}

TEST(Zero2, ScattersGradientsInEveryMicrobatchAndGathersWeightsOnce) {
  const std::int64_t m = 3;
  const Plan plan = plan_of(split({.dp = 2}, 2), m);
  EXPECT_EQ(traffic(plan, 0, kScatter, Axis::kDp), (Volume{m * kUnits, m * 4 * kParameters}));
  EXPECT_EQ(traffic(plan, 0, kGather, Axis::kDp), (Volume{kUnits, 2 * kParameters}));
}

TEST(Fsdp, GathersEveryLayerForForwardAndAgainForBackward) {
  // The embedding's backward pass reads no weight, and the head's follows its forward pass at once.
  const std::int64_t m = 3;
  const Plan plan = plan_of(split({.fsdp = 2}, 3), m);
  const Volume expected{m * (2 * kLayers + 2),
                        m * 2 * (2 * kLayers * kCount.layer + kCount.embedding + kCount.head)};
  EXPECT_EQ(traffic(plan, 0, kGather, Axis::kFsdp), expected);
}

TEST(Fsdp, ScattersEveryGradientOncePerMicrobatch) {
  const std::int64_t m = 3;
  const Plan plan = plan_of(split({.fsdp = 2}, 3), m);
  EXPECT_EQ(traffic(plan, 0, kScatter, Axis::kFsdp), (Volume{m * kUnits, m * 4 * kParameters}));
}

TEST(Fsdp, WithoutReshardingEveryUnitIsGatheredOncePerMicrobatch) {
  Strategy s = split({.fsdp = 2}, 3);
  s.fsdp.reshard_after_forward = false;
  const std::int64_t m = 3;
  EXPECT_EQ(traffic(plan_of(s, m), 0, kGather, Axis::kFsdp),
            (Volume{m * kUnits, m * 2 * kParameters}));
}

TEST(Fsdp, TheRootIsGatheredAndReducedAtOnceInEachMicrobatch) {
  Strategy s = split({.fsdp = 2}, 3);
  s.fsdp.root = true;
  const std::int64_t m = 3;
  const Plan plan = plan_of(s, m);
  const std::int64_t root = kCount.embedding + kCount.head;
  EXPECT_EQ(traffic(plan, 0, kGather, Axis::kFsdp),
            (Volume{m * (2 * kLayers + 1), m * 2 * (2 * kLayers * kCount.layer + root)}));
  EXPECT_EQ(traffic(plan, 0, kScatter, Axis::kFsdp),
            (Volume{m * (kLayers + 1), m * 4 * kParameters}));
}

TEST(Fsdp, TheRootWaitsForTheEmbeddingsGradient) {
  Strategy s = split({.fsdp = 2}, 3);
  s.fsdp.root = true;
  const Plan plan = plan_of(s, 1);
  const std::size_t embedded = calls_of(plan, "embedding.backward").front();
  const std::vector<Call>& calls = plan.programs[0].calls;
  for (std::size_t c : calls_of(plan, "grad_scatter")) {
    const TensorId from = plan.blocks[calls[c].block].ops.back().operands[0].tensor;
    EXPECT_EQ(plan.tensors[from].name == "root.gradients", c > embedded) << "call " << c;
  }
}

TEST(Fsdp, WithATiedTableTheRootIsGatheredOnce) {
  Model model = tiny_llama();
  model.tied_embeddings = true;
  Strategy s = split({.fsdp = 2}, 3);
  s.fsdp.root = true;
  const ParameterCount n = count_parameters(model);
  EXPECT_EQ(traffic(make_plan(model, tiny_workload(2), s), 0, kGather, Axis::kFsdp).bytes,
            2 * (2 * kLayers * n.layer + n.embedding + n.head));
}

TEST(Fsdp, ALastLayerThatStaysIsGatheredOncePerMicrobatch) {
  Strategy s = split({.fsdp = 2}, 3);
  s.fsdp.reshard_last_layer = false;
  const std::int64_t m = 3;
  const std::int64_t layers = 2 * kLayers - 1;
  EXPECT_EQ(
      traffic(plan_of(s, m), 0, kGather, Axis::kFsdp),
      (Volume{m * (layers + 2), m * 2 * (layers * kCount.layer + kCount.embedding + kCount.head)}));
}

TEST(Fsdp, WithoutReshardingPipelineStagesGatherEveryUnitOnceAStep) {
  // Microbatches overtake one another, so weights stay until all of them are through.
  Strategy s = split({.pp = 2, .fsdp = 2}, 3);
  s.fsdp.reshard_after_forward = false;
  const Plan plan = plan_of(s, 3);
  EXPECT_EQ(traffic(plan, 0, kGather, Axis::kFsdp),
            (Volume{2, 2 * (kCount.embedding + kCount.layer)}));
}

TEST(Fsdp, SequenceShardsOweTheirNormGradientsInEveryMicrobatch) {
  Strategy s = split({.fsdp = 2, .tp = 2}, 3);
  s.sequence_parallel = true;
  const std::int64_t m = 3, gammas = 2 * kLayers + 1, h = tiny_llama().hidden;
  Volume owed;
  for_each_op(plan_of(s, m), 0, [&](const Call&, const Op& op) {
    const auto* c = std::get_if<Collective>(&op.body);
    // What flows backward otherwise are bf16 activations.
    const bool gradients = op.phase == Phase::kBackward && c != nullptr && c->dtype == DType::kFp32;
    if (gradients) add_if(owed, op, kReduce, Axis::kTp);
  });
  EXPECT_EQ(owed, (Volume{m * (kLayers + 1), m * gammas * h * 4}));
}

TEST(Fsdp, TiedTableIsGatheredForTheEmbeddingAndAgainForTheHead) {
  Model model = tiny_llama();
  model.tied_embeddings = true;
  const Plan plan = make_plan(model, tiny_workload(2), split({.fsdp = 2}, 3));
  const ParameterCount n = count_parameters(model);
  EXPECT_EQ(traffic(plan, 0, kGather, Axis::kFsdp).bytes,
            2 * (2 * kLayers * n.layer + 2 * n.embedding + n.head));
}

TEST(HybridShard, SharesAreReducedOverReplicasOnceAStep) {
  Strategy s = split({.dp = 2, .fsdp = 4}, 3);
  s.fsdp.replica_sums = ReplicaSums::kLastMicrobatch;
  EXPECT_EQ(traffic(plan_of(s, 3), 0, kReduce, Axis::kDp), (Volume{kUnits, 4 * kParameters / 4}));
}

TEST(HybridShard, Zero1ReducesSharesOverReplicasInBuckets) {
  const Plan plan = plan_of(split({.dp = 2, .fsdp = 4}, 1), 3);
  EXPECT_EQ(traffic(plan, 0, kScatter, Axis::kFsdp).bytes, 4 * kParameters);
  EXPECT_EQ(traffic(plan, 0, kReduce, Axis::kDp).bytes, 4 * kParameters / 4);
}

TEST(Fsdp, AGatherMayStartWhenTheUsePrefetchPlusOneBeforeItHasFinished) {
  for (std::int64_t prefetch : {0, 1, 2}) {
    Strategy s = split({.fsdp = 2}, 3);
    s.fsdp.prefetch = prefetch;
    const Plan plan = make_plan(tiny_llama(6), tiny_workload(2), s);
    const std::vector<Call>& calls = plan.programs[0].calls;
    std::vector<std::size_t> gathers = calls_of(plan, "param_gather");
    // Gather and use number k of the forward pass: embedding 0, layers 1 ... 6.
    std::vector<std::size_t> uses = calls_of(plan, "embedding.forward");
    for (std::size_t c : calls_of(plan, "layer.forward")) uses.push_back(c);
    for (std::size_t k = static_cast<std::size_t>(prefetch) + 1; k < uses.size(); ++k) {
      EXPECT_EQ(calls[gathers[k]].layer, calls[uses[k]].layer);
      EXPECT_EQ(static_cast<std::size_t>(calls[gathers[k]].after),
                uses[k - static_cast<std::size_t>(prefetch) - 1])
          << "prefetch " << prefetch << ", use " << k;
    }
  }
}

TEST(Fsdp, HoweverFarAheadNothingIsGatheredAgainBeforeItWasUsed) {
  for (std::int64_t prefetch : {3, 5, 100}) {
    Strategy s = split({.fsdp = 2}, 3);
    s.fsdp.prefetch = prefetch;
    const Plan plan = make_plan(tiny_llama(6), tiny_workload(2), s);
    const std::vector<Call>& calls = plan.programs[0].calls;
    const std::vector<std::size_t> uses = calls_of(plan, "layer.forward");
    std::map<std::int32_t, std::int64_t> gathers;  // so far, by layer
    for (const std::size_t c : calls_of(plan, "param_gather")) {
      const std::int32_t layer = calls[c].layer;
      if (layer == 0 || ++gathers[layer] % 2 == 1) continue;  // or for a forward pass
      const auto used = std::ranges::count_if(
          uses, [&](std::size_t u) { return u < c && calls[u].layer == layer; });
      EXPECT_GE(2 * used, gathers[layer]) << prefetch << ", layer " << layer;
    }
  }
}

TEST(Zero, OneMaySumAllGradientsOnEveryRank) {
  Strategy s = split({.dp = 2}, 1);
  s.data.all_reduce = true;
  const Plan plan = plan_of(s, 2);
  EXPECT_EQ(traffic(plan, 0, kReduce, Axis::kDp).bytes, 4 * kParameters);
  EXPECT_EQ(traffic(plan, 0, kScatter, Axis::kDp).bytes, 0);
  EXPECT_EQ(traffic(plan, 0, kGather, Axis::kDp).bytes, 2 * kParameters);
}

TEST(Zero, TwoWithoutOverlapLetsTheBackwardPassWait) {
  Strategy s = split({.dp = 2}, 2);
  const auto waited_for = [&] {
    const Plan plan = plan_of(s, 2);
    const std::vector<Call>& calls = plan.programs[0].calls;
    std::int64_t count = 0;
    for (std::size_t i = 0; i + 1 < calls.size(); ++i) {
      const bool reduces = plan.blocks[calls[i].block].name.starts_with("grad_scatter");
      count += reduces && calls[i + 1].after == static_cast<std::int32_t>(i) ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(waited_for(), 0);
  s.data.overlap = false;
  EXPECT_EQ(waited_for(), 2 * kUnits - 1);  // the last one by what reads it
}

// One communicator for both: NCCL carries out its collectives in turn (NVIDIA/nccl issue 574).
TEST(Fsdp, GathersAndReductionsTakeTurns) {
  const auto streams = [](int zero_stage) {
    const Plan plan = make_plan(tiny_llama(2), tiny_workload(2), split({.fsdp = 2}, zero_stage));
    std::set<Stream> out;
    for (const Block& block : plan.blocks) {
      for (const Op& op : block.ops) {
        const Collective* c = std::get_if<Collective>(&op.body);
        if (c != nullptr && c->axes == AxisSet(Axis::kFsdp) && c->elements > 1)
          out.insert(op.stream);
      }
    }
    return out;
  };
  EXPECT_EQ(streams(3), std::set<Stream>{Stream::kParamGather});
  EXPECT_EQ(streams(2), (std::set<Stream>{Stream::kParamGather, Stream::kGradSync}));
}

}  // namespace plait::data_test
