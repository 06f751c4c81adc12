// Multi-token prediction: what the modules behind the last layer hold, compute and send, and where.
#include <set>

#include "model/iteration_flops.h"
#include "plan/memory.h"
#include "plan/serving.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::prediction_test {

Model predicting(std::int64_t modules, Model m = tiny_llama()) {
  m.mtp_layers = modules;
  return m;
}
/// A dense layer, then one with experts.
Model tiny_mixture() {
  Model m = tiny_llama();
  m.experts = 4, m.experts_per_token = 2, m.expert_ffn_hidden = 12, m.first_dense_layers = 1;
  return m;
}

std::int64_t calls_of(const Plan& plan, std::size_t stage, std::string_view block) {
  std::int64_t n = 0;
  for (const Call& c : plan.programs.at(stage).calls) n += plan.blocks[c.block].name == block;
  return n;
}
/// Elements of all weights that the stage reads, each layer's once.
std::int64_t weights_of(const Plan& plan, std::size_t stage) {
  std::set<std::pair<TensorId, std::int32_t>> seen;
  std::int64_t n = 0;
  for_each_op(plan, stage, [&](const Call& call, const Op& op) {
    for (const Operand& o : op.operands) {
      const Tensor& t = plan.tensors[o.tensor];
      if (t.kind != TensorClass::kWeight || !t.is_view()) continue;
      const std::int32_t layer = t.scope == Scope::kLayer ? call.layer + o.shift : 0;
      if (seen.emplace(o.tensor, layer).second) n += t.elements(plan.mesh);
    }
  });
  return n;
}

// DeepSeek-AI 2024 (arXiv 2412.19437), section 2.2 and figure 3: two norms, a projection of 2 h to
// h, a layer; and the norm before the shared output matrix, as the checkpoint has it.
TEST(Prediction, AModuleHasALayerThreeNormsAndAProjection) {
  const Model m = predicting(2);
  const ParameterCount n = count_parameters(m);
  EXPECT_EQ(n.mtp, n.layer + 3 * m.hidden + 2 * m.hidden * m.hidden);
  EXPECT_EQ(n.total(m), n.total(tiny_llama()) + 2 * n.mtp);
  EXPECT_EQ(n.active(m), n.active(tiny_llama())) << "what is asked for is the next token";
  EXPECT_EQ(weights_of(make_plan(m, tiny_workload(1), {}), 0), n.total(m));
}

TEST(Prediction, ModulesHaveExpertsWhereTheLastLayerHas) {
  const Model m = predicting(1, tiny_mixture());
  const ParameterCount n = count_parameters(m);
  EXPECT_EQ(n.mtp, n.moe_layer + 3 * m.hidden + 2 * m.hidden * m.hidden);
  const Plan plan = make_plan(m, tiny_workload(1), {});
  EXPECT_EQ(weights_of(plan, 0), n.total(m));
  EXPECT_EQ(calls_of(plan, 0, "moe_layer.forward"), 2);
  EXPECT_EQ(calls_of(plan, 0, "layer.forward"), 1);
}

// Megatron-LM's num_floating_point_operations: a layer, the projection and the logits of each.
TEST(Prediction, FlopsAreThoseOfTheClosedFormula) {
  for (const std::int64_t modules : {1, 3}) {
    const Model m = predicting(modules);
    const auto all = [](const Op&) { return true; };
    const Plan plan = make_plan(m, tiny_workload(2), {});
    EXPECT_EQ(flops_of(plan, all).value, needed_flops_per_iteration(m, 8, 2).value);
    const double h = 16, qkv = 32, tokens = 2 * 8;
    const double layer = h * qkv + h * h + 3 * h * 24 + 2 * 8 * h;  // with the square of attention
    const double more = 3 * 2 * tokens * (layer + 2 * h * h + h * 32);
    EXPECT_DOUBLE_EQ(plan.model_flops.value,
                     megatron_flops_per_iteration(tiny_llama(), 8, 2).value +
                         static_cast<double>(modules) * more);
  }
}

TEST(Prediction, WithoutSequenceShardsTheProjectionRunsOnEveryRankAlongTp) {
  const Model m = predicting(1);
  const auto all = [](const Op&) { return true; };
  const double needed = needed_flops_per_iteration(m, 8, 2).value;
  Strategy s = split({.tp = 2});
  const double again = 3 * 2 * (2 * 8) * 2 * 16 * 16;
  EXPECT_EQ(flops_of(make_plan(m, tiny_workload(2), s), all).value, needed + again);
  s.sequence_parallel = true;
  EXPECT_EQ(flops_of(make_plan(m, tiny_workload(2), s), all).value, needed);
}

TEST(Prediction, ModulesAreOnTheLastStage) {
  const Plan plan = make_plan(predicting(2), tiny_workload(4), split({.pp = 2}));
  EXPECT_EQ(calls_of(plan, 0, "mtp.forward"), 0);
  EXPECT_EQ(calls_of(plan, 1, "mtp.forward"), 2 * 4);  // of each microbatch
  EXPECT_EQ(calls_of(plan, 1, "mtp_head.backward"), 2 * 4);
  EXPECT_EQ(calls_of(plan, 1, "layer.forward"), (1 + 2) * 4);
  EXPECT_EQ(calls_of(plan, 0, "layer.forward"), 4);
}

// Megatron-LM's embedding group: the ranks that hold the embedding sum its gradients.
TEST(Prediction, TheEmbeddingOfBothEndsIsSummedOnce) {
  for (const int zero : {0, 1, 2, 3}) {
    const Degrees d = zero == 0 ? Degrees{.pp = 2} : Degrees{.pp = 2, .dp = 2};
    const Plan plan = make_plan(predicting(1), tiny_workload(4), split(d, zero));
    const std::int64_t shards = zero >= 2 ? 2 : 1;
    for (const std::size_t stage : {std::size_t{0}, std::size_t{1}}) {
      const Volume sums = traffic(plan, stage, CollectiveKind::kAllReduce, Axis::kPp);
      EXPECT_EQ(sums, (Volume{1, 32 * 16 / shards * 4})) << "zero " << zero;
    }
    EXPECT_TRUE(validate(plan).empty());
  }
  const Plan without = make_plan(tiny_llama(), tiny_workload(4), split({.pp = 2}));
  EXPECT_EQ(traffic(without, 0, CollectiveKind::kAllReduce, Axis::kPp).count, 0);
}

TEST(Prediction, ATiedMatrixIsTheOneEmbeddingOfTheLastStage) {
  Model m = predicting(1);
  m.tied_embeddings = true;
  const Plan plan = make_plan(m, tiny_workload(4), split({.pp = 2}));
  const ParameterCount n = count_parameters(m);
  EXPECT_EQ(weights_of(plan, 0), n.embedding + n.layer);
  EXPECT_EQ(weights_of(plan, 1), n.embedding + n.layer + n.head + n.mtp);
  EXPECT_EQ(traffic(plan, 1, CollectiveKind::kAllReduce, Axis::kPp).count, 1);
}

TEST(Prediction, WhereThePipelineTurnsTheEmbeddingStandsOnce) {
  Strategy s = split({.pp = 2});
  s.pipeline.schedule = Schedule::kZbV, s.pipeline.chunks = 2;
  const Plan plan = make_plan(predicting(1, tiny_llama(4)), tiny_workload(4), s);
  EXPECT_EQ(traffic(plan, 0, CollectiveKind::kAllReduce, Axis::kPp).count, 0);
  EXPECT_EQ(calls_of(plan, 0, "mtp.forward"), 4);
}

TEST(Prediction, LossesAreWeightedAsInMegatron) {
  // 0.1 shared by the modules, beside the model's own.
  const auto weight = [](const Plan& plan, std::string_view block) {
    for (const Op& op : block_named(plan, block).ops) {
      const Compute* c = std::get_if<Compute>(&op.body);
      if (c == nullptr || !std::holds_alternative<CrossEntropy>(*c)) continue;
      return std::get<CrossEntropy>(*c).weight;
    }
    return 0.0;
  };
  const Plan plan = make_plan(predicting(2), tiny_workload(1), {});
  EXPECT_DOUBLE_EQ(weight(plan, "mtp_head.backward"), 0.05);
  EXPECT_EQ(weight(plan, "head.backward"), 1);
}

TEST(Prediction, ModulesAreRecomputedAsTheLayersBehindTheLast) {
  const auto again = [](const RecomputeOptions& r) {
    Strategy s;
    s.recompute = r;
    return calls_of(make_plan(predicting(2), tiny_workload(1), s), 0, "layer.backward.recompute");
  };
  EXPECT_EQ(again({Recompute::kFull, -1, 1}), 4);
  EXPECT_EQ(again({Recompute::kFull, 3, 1}), 3);
  EXPECT_EQ(again({Recompute::kFull, -1, 2}), 2);
}

// Between forward and backward a module keeps, of each token, its embedding, the two halves that
// are projected, h elements each, and what a layer and a head keep; the head's logits are in fp32.
TEST(Prediction, AModuleKeepsWhatItsPartsNeed) {
  const auto kept = [](const Plan& plan) {
    std::int64_t bytes = 0;
    for (const LiveTensor& t : live_memory(plan, 0).at_peak) {
      const std::string& name = plan.tensors[t.tensor].name;
      if (name == "mtp.embedded" || name == "mtp.joined") bytes += t.bytes.value;
    }
    return bytes;
  };
  EXPECT_EQ(kept(make_plan(predicting(1), tiny_workload(1), {})), 8 * 3 * 16 * 2);
}

TEST(Prediction, ServingLeavesModulesOut) {
  const Step one_token = {{}, {1, 1, 8}, 1};
  ServingLayout layout;
  layout.map = even_layers(2, 1);
  const auto plan = [&](std::int64_t modules) {
    return make_serving_plan(predicting(modules), one_token, {}, layout, 64);
  };
  EXPECT_EQ(plan(1).tensors.size(), plan(0).tensors.size());
  EXPECT_EQ(op_count(plan(1)), op_count(plan(0)));
}

}  // namespace plait::prediction_test
