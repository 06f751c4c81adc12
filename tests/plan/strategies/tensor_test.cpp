// Tensor and sequence parallelism: which collectives a layer has, and how large they are.
#include <algorithm>

#include "core/error.h"
#include "plan/memory.h"
#include "tests/plan/tiny.h"

namespace plait::tensor_test {

constexpr CollectiveKind kReduce = CollectiveKind::kAllReduce;
constexpr CollectiveKind kGather = CollectiveKind::kAllGather;
constexpr CollectiveKind kScatter = CollectiveKind::kReduceScatter;

Plan plan_of(const Model& model, bool sequence_parallel, std::int64_t tp = 2) {
  Strategy s = split({.tp = tp});
  s.sequence_parallel = sequence_parallel;
  return make_plan(model, tiny_workload(2, 2), s);
}

/// One residual stream of a microbatch: s b h of two bytes.
constexpr std::int64_t kStream = 8 * 2 * 16 * 2;
Volume streams(std::int64_t n) { return {n, n * kStream}; }

TEST(TensorParallel, LayerAllReducesTwiceForwardAndTwiceBackward) {
  // Shoeybi et al. 2019, figure 3: g behind attention and MLP, f behind their input gradients.
  for (const Model& model : {tiny_gpt(), tiny_llama()}) {
    const Plan plan = plan_of(model, false);
    for (const char* name : {"layer.forward", "layer.backward"}) {
      const Block block = block_named(plan, name);
      EXPECT_EQ(traffic(block, kReduce, Axis::kTp), streams(2)) << model.name << " " << name;
      EXPECT_EQ(collectives(block), 2) << model.name << " " << name;
    }
  }
}

TEST(SequenceParallel, LayerForwardGathersTwiceAndScattersTwice) {
  // Korthikanti et al. 2022, figure 5: every all_reduce becomes reduce_scatter and all_gather.
  for (const Model& model : {tiny_gpt(), tiny_llama()}) {
    const Block block = block_named(plan_of(model, true), "layer.forward");
    EXPECT_EQ(traffic(block, kGather, Axis::kTp), streams(2)) << model.name;
    EXPECT_EQ(traffic(block, kScatter, Axis::kTp), streams(2)) << model.name;
    EXPECT_EQ(collectives(block), 2 + 2) << model.name;
  }
}

TEST(SequenceParallel, LayerBackwardGathersItsSavedInputsOnceMore) {
  // Korthikanti et al. 2022, section 4.2.2: the inputs of the column-parallel projections are kept
  // as shards, so each weight gradient costs one more all_gather.
  for (const Model& model : {tiny_gpt(), tiny_llama()}) {
    const Block block = block_named(plan_of(model, true), "layer.backward");
    EXPECT_EQ(traffic(block, kGather, Axis::kTp), streams(2 + 2)) << model.name;
    EXPECT_EQ(traffic(block, kScatter, Axis::kTp), streams(2)) << model.name;
    EXPECT_EQ(collectives(block), 2 + 2 + 2) << model.name;
  }
}

TEST(TensorParallel, ParallelAttentionSharesOneForwardAllReduce) {
  Model falcon = tiny_llama();
  falcon.parallel_attention = true;
  const Plan plan = plan_of(falcon, false);
  EXPECT_EQ(traffic(block_named(plan, "layer.forward"), kReduce, Axis::kTp), streams(1));
  // Two norms read the same input, so there are two input gradients.
  EXPECT_EQ(traffic(block_named(plan, "layer.backward"), kReduce, Axis::kTp), streams(2));
}

TEST(TensorParallel, EmbeddingReducesItsPartialRows) {
  for (const Model& model : {tiny_gpt(), tiny_llama()}) {
    const Plan plan = plan_of(model, false);
    EXPECT_EQ(traffic(block_named(plan, "embedding.forward"), kReduce, Axis::kTp), streams(1));
    EXPECT_EQ(collectives(block_named(plan, "embedding.backward")), 0);
    const Plan sharded = plan_of(model, true);
    EXPECT_EQ(traffic(block_named(sharded, "embedding.forward"), kScatter, Axis::kTp), streams(1));
    EXPECT_EQ(traffic(block_named(sharded, "embedding.backward"), kGather, Axis::kTp), streams(1));
  }
}

TEST(TensorParallel, CrossEntropyReducesThreeNumbersPerTokenInsteadOfLogits) {
  // Row maximum, then sum of exponentials and target logit, all fp32 (Shoeybi et al. 2019, section
  // 3: b s numbers instead of b s v).
  const std::int64_t rows = 8 * 2;
  const Block block = block_named(plan_of(tiny_llama(), false), "head.forward");
  EXPECT_EQ(traffic(block, kReduce, Axis::kTp), (Volume{2, rows * (1 + 2) * 4}));
  const auto maximum = std::find_if(block.ops.begin(), block.ops.end(), [](const Op& op) {
    return std::holds_alternative<Collective>(op.body);
  });
  EXPECT_EQ(std::get<Collective>(maximum->body).reduction, Reduction::kMax);
}

TEST(TensorParallel, HeadBackwardReducesItsInputGradient) {
  EXPECT_EQ(traffic(block_named(plan_of(tiny_llama(), false), "head.backward"), kReduce, Axis::kTp),
            streams(1));
}

TEST(WholeLogits, AreGatheredOnceAndNothingOfTheLossIsReduced) {
  // Scaling's all_concat forward; backward each rank takes its own columns (all_shard). The input's
  // gradient is summed as ever.
  Strategy s = split({.tp = 2});
  const Plan shares = make_plan(tiny_llama(), tiny_workload(2, 2), s);
  s.tensor.gather_logits = true;
  const Plan whole = make_plan(tiny_llama(), tiny_workload(2, 2), s);
  const Block forward = block_named(whole, "head.forward"),
              backward = block_named(whole, "head.backward");
  const std::int64_t rows = 8 * 2, vocab = tiny_llama().vocab;
  EXPECT_EQ(traffic(forward, kGather, Axis::kTp), (Volume{1, rows * vocab * 2}));
  EXPECT_EQ(collectives(forward), 1);
  EXPECT_EQ(traffic(backward, kReduce, Axis::kTp), streams(1));
  EXPECT_EQ(collectives(backward), 1);
  const auto everything = [](const Op&) { return true; };
  EXPECT_EQ(flops_of(whole, everything).value, flops_of(shares, everything).value)
      << "products are split as before";
}

TEST(WholeLogits, AreOnEveryRank) {
  Strategy s = split({.tp = 2});
  s.tensor.gather_logits = true;
  const Plan plan = make_plan(tiny_llama(), tiny_workload(2, 2), s);
  EXPECT_EQ(tensor_named(plan, "logits").elements(plan.mesh), 8 * 2 * tiny_llama().vocab);
  for (const Op& op : block_named(plan, "head.forward").ops) {
    const Compute* c = std::get_if<Compute>(&op.body);
    const auto* loss = c == nullptr ? nullptr : std::get_if<CrossEntropy>(c);
    if (loss != nullptr && loss->step == CrossEntropy::Step::kSums) {
      EXPECT_EQ(loss->vocab, tiny_llama().vocab);
    }
  }
}

/// Of a layer's forward pass, bytes that its copies write.
std::int64_t copied(const Plan& plan) {
  std::int64_t out = 0;
  for (const Op& op : block_named(plan, "layer.forward").ops) {
    const Compute* c = std::get_if<Compute>(&op.body);
    const Cast* cast = c == nullptr ? nullptr : std::get_if<Cast>(c);
    if (cast != nullptr && cast->from == cast->to) out += cast->elements * size_of(cast->to);
  }
  return out;
}

TEST(CopiedInputs, AreOneForEachProjection) {
  // PaddlePaddle's ColumnParallelLinear: queries, keys, values, gate and up, or up alone.
  for (const auto& [model, projections] : {std::pair{tiny_llama(), 5}, std::pair{tiny_gpt(), 4}}) {
    Strategy s = split({.tp = 2});
    const Plan shared = make_plan(model, tiny_workload(2, 2), s);
    s.tensor.copied_inputs = true;
    const Plan plan = make_plan(model, tiny_workload(2, 2), s);
    EXPECT_EQ(copied(shared), 0);
    EXPECT_EQ(copied(plan), projections * kStream) << model.name;
    EXPECT_EQ(traffic(block_named(plan, "layer.backward"), kReduce, Axis::kTp), streams(2));
  }
}

TEST(CopiedInputs, AreKeptAndWhatTheyAreOfIsNot) {
  // Of a Llama five copies, where the outputs of its two norms are kept otherwise.
  const Model model = tiny_llama();
  Strategy s = split({.tp = 2});
  const Bytes shared = live_memory(make_plan(model, tiny_workload(2, 2), s), 0).peak;
  s.tensor.copied_inputs = true;
  const Bytes copied = live_memory(make_plan(model, tiny_workload(2, 2), s), 0).peak;
  EXPECT_EQ((copied - shared).value, (5 - 2) * kStream * model.layers);
}

TEST(CopiedInputs, AreNoneWhereTheSequenceIsSplit) {
  Strategy s = split({.tp = 2});
  s.sequence_parallel = s.tensor.copied_inputs = true;
  EXPECT_EQ(copied(make_plan(tiny_llama(), tiny_workload(2, 2), s)), 0);
}

TEST(TensorParallel, ProjectionsInAreSplitByRowsOfTheirWeightAndProjectionsOutByColumns) {
  const Model m = tiny_llama();
  const Plan plan = plan_of(m, false);
  const auto local = [&](const char* name, std::size_t dim) {
    return tensor_named(plan, name).dims[dim].local(plan.mesh);
  };
  EXPECT_EQ(local("layer.qkv.weight", 0), m.qkv_width() / 2);
  EXPECT_EQ(local("layer.mlp_up.weight", 0), 2 * m.ffn_hidden / 2);
  EXPECT_EQ(local("layer.attention_out.weight", 1), m.query_width() / 2);
  EXPECT_EQ(local("layer.mlp_down.weight", 1), m.ffn_hidden / 2);
  EXPECT_EQ(local("embedding.weight", 0), m.vocab / 2);
  EXPECT_EQ(local("output.weight", 0), m.vocab / 2);
  EXPECT_EQ(local("layer.attention_norm.gamma", 0), m.hidden);
}

TEST(SequenceParallel, GradientsOfReplicatedWeightsAreSummedOverTpOnceAStep) {
  // From sharded tokens: gamma and beta of two norms, the biases of two output projections, the
  // final norm, learned positions (Megatron-LM, finalize_model_grads).
  const Model m = tiny_gpt();
  const std::int64_t elements =
      m.layers * (4 + 2) * m.hidden + 2 * m.hidden + m.max_positions * m.hidden;
  const Block block = block_named(plan_of(m, true), "norm_gradients");
  EXPECT_EQ(traffic(block, kReduce, Axis::kTp), (Volume{1, elements * 4}));
}

TEST(TensorParallel, WithoutSequenceShardsNoWeightGradientIsOwedToTp) {
  for (const Block& block : plan_of(tiny_gpt(), false).blocks) {
    EXPECT_NE(block.name, "norm_gradients");
  }
}

TEST(TensorParallel, AVocabularyThatItDoesNotDivideMayBePadded) {
  Model model = tiny_llama();
  model.vocab = 33;
  try {
    make_plan(model, tiny_workload(1), split({.tp = 2}));
    ADD_FAILURE() << "S010 is not raised";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "S010");
    EXPECT_NE(e.text().cure.find("or pad model.vocab to 34"), std::string::npos) << e.text().cure;
  }
}

}  // namespace plait::tensor_test
