// Plans of models with state-space mixers: parameters, FLOPs, what is kept, what is sent, what is
// refused.
#include "model/iteration_flops.h"
#include "plan/memory.h"
#include "plan/serving.h"
#include "tests/plan/strategies/mixers.h"

namespace plait::state_space_plan_test {

Model hybrid(std::string pattern) {
  Model m = tiny_llama(static_cast<std::int64_t>(pattern.size()));
  m.name = "tiny-hybrid", m.positions = PositionKind::kNone, m.layer_pattern = std::move(pattern);
  m.state_size = 6, m.state_heads = 4, m.state_head_dim = 8, m.state_groups = 2;
  m.scan_chunk = 4;
  return m;
}

TEST(Hybrid, RanksTogetherDoTheFlopsThatTheModelNeeds) {
  const auto first_time = [](const Op& op) { return op.phase != Phase::kRecompute; };
  for (const char* pattern : {"M*-M", "mama", "MMMM"}) {
    const Model m = hybrid(pattern);
    for (const Strategy& s : splits_of_mixers()) {
      const Plan plan = make_plan(m, tiny_workload(8), s);
      EXPECT_EQ(flops_of(plan, first_time).value, needed_flops_per_iteration(m, 8, 8).value);
      EXPECT_TRUE(validate(plan).empty());
    }
  }
}

TEST(Hybrid, UnitsHoldTheParametersOfTheirParts) {
  const Model m = hybrid("M*-ma");
  const ParameterCount n = count_parameters(m);
  const Plan plan = make_plan(m, tiny_workload(1), {});
  const auto weights = [&](const char* unit) {
    return tensor_named(plan, std::string(unit) + ".weights").elements(plan.mesh);
  };
  EXPECT_EQ(weights("state_space_layer"), n.state_space);
  EXPECT_EQ(weights("attention_layer"), n.attention);
  EXPECT_EQ(weights("mlp_layer"), n.mlp);
  EXPECT_EQ(weights("state_space_mlp_layer"), n.state_space + n.mlp);
  EXPECT_EQ(weights("layer"), n.layer);
}

// mamba_ssm's fused layer: what the first product made, y and the norm's statistics; beside it the
// product's input and the statistics of the norm before. In bf16, of s b tokens.
TEST(Hybrid, KeepsWhatTheFusedLayerKeeps) {
  const Model m = hybrid("MM");
  const std::int64_t tokens = 8, d = m.state_width();
  const auto bytes = [&](std::int64_t t) {
    return tokens * (2 * m.hidden + 4 + (2 * m.state_input_width() + 2 * d + 4 * 2) / t);
  };
  const Plan whole = make_plan(m, tiny_workload(1), {});
  EXPECT_EQ(kept_by(whole, "state_space_layer.forward"), bytes(1));
  const Plan halves = make_plan(m, tiny_workload(1), split({.tp = 2}));
  EXPECT_EQ(kept_by(halves, "state_space_layer.forward"), bytes(2));
}

TEST(Hybrid, MixersSplitByHeadsSumTheirResultsOnly) {
  expect_results_alone_to_be_summed(hybrid("MM"), "state_space_layer");
}

// Products that are narrowed keep their inputs narrow, that of the last one too.
TEST(Hybrid, LinearLayersReadNarrowCopies) {
  for_each_narrowed(hybrid("M*-M"), "state_space_layer.forward",
                    [](const MatMul& product, DType type) { EXPECT_EQ(product.in, type); });
}

TEST(Hybrid, KeepsTheMatricesOfItsPartsInOneByte) {
  using enum NarrowWeights;
  const Model m = hybrid("M*-maa");
  Workload w = tiny_workload(8);
  w.precision.matmul = DType::kFp8, w.precision.narrow_weights = kGathered;
  const Plan plan = make_plan(m, w, split({.dp = 2}, 1));
  const auto bytes = [&](const char* unit) {
    return tensor_named(plan, std::string(unit) + "_matrices.weights").bytes(plan.mesh).value;
  };
  // W_in to gate, inputs, B and C of 2 groups of 6 states and a step for each of 4 heads, and
  // W_out.
  const std::int64_t h = 16, mixer = h * (2 * 32 + 2 * 2 * 6 + 4) + 32 * h;
  const std::int64_t attention = h * 32 + h * h, mlp = 3 * h * 24;
  EXPECT_EQ(bytes("state_space_layer"), mixer);
  EXPECT_EQ(bytes("attention_layer"), attention);
  EXPECT_EQ(bytes("mlp_layer"), mlp);
  EXPECT_EQ(bytes("state_space_mlp_layer"), mixer + mlp);
  EXPECT_EQ(bytes("layer"), attention + mlp);
  // What is no matrix stays in two bytes.
  const Tensor& others = tensor_named(plan, "state_space_layer.weights");
  EXPECT_EQ(others.dtype, DType::kBf16);
  EXPECT_EQ(others.elements(plan.mesh), count_parameters(m).state_space - mixer);
  for (const NarrowWeights narrow : {kGathered, kKept}) {
    w.precision.narrow_weights = narrow;
    for (const Strategy& s : splits_of_mixers()) EXPECT_TRUE(validate(make_plan(m, w, s)).empty());
  }
}

TEST(Hybrid, IsRefusedWhereItIsNotPlanned) {
  const Workload w = tiny_workload(8);
  const auto with = [](const char* pattern, auto change) {
    Model m = hybrid(pattern);
    change(m);
    return m;
  };
  const auto nothing = [](Model&) {};
  EXPECT_EQ(refusal_of(with("MX", nothing), w, {}), "S150");
  EXPECT_EQ(refusal_of(with("MM", [](Model& m) { m.layers = 3; }), w, {}), "S150");
  EXPECT_EQ(refusal_of(with("ME", nothing), w, {}), "S150");
  EXPECT_EQ(refusal_of(with("MM", [](Model& m) { m.state_size = 0; }), w, {}), "S151");
  EXPECT_EQ(refusal_of(with("MM", [](Model& m) { m.state_groups = 3; }), w, {}), "S151");
  EXPECT_EQ(refusal_of(with("aM", [](Model& m) { m.mtp_layers = 1; }), w, {}), "S152");
  EXPECT_EQ(refusal_of(with("Ma", [](Model& m) { m.mtp_layers = 1; }), w, {}), "");
  const auto experts = [](Model& m) {
    m.experts = 2, m.experts_per_token = 1, m.expert_ffn_hidden = 8;
  };
  EXPECT_EQ(refusal_of(with("ma", experts), w, {}), "") << "one unit of both layers";
  EXPECT_EQ(refusal_of(with("ME*E", experts), w, {}), "");
  EXPECT_EQ(refusal_of(with("M*", nothing), w, split({.cp = 2})), "S154");
  EXPECT_EQ(refusal_of(with("*-", nothing), w, split({.cp = 2})), "") << "attention is as ever";
  Workload packed = w;
  packed.documents = {Packing::kPacked, 3, {}};
  EXPECT_EQ(refusal_of(with("M*", nothing), packed, {}), "S155");
  Strategy by_op;
  by_op.recompute.kind = Recompute::kOps;
  EXPECT_EQ(refusal_of(with("M*", nothing), w, by_op), "S156");
  EXPECT_EQ(refusal_of(with("MM", nothing), w, split({.tp = 4})), "S010") << "two groups";
}

}  // namespace plait::state_space_plan_test
