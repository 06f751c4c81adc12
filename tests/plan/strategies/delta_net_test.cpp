// Plans of models with gated delta nets and gates: parameters, FLOPs, what is kept, what is sent,
// what is refused.
#include "model/iteration_flops.h"
#include "plan/memory.h"
#include "tests/plan/strategies/mixers.h"

namespace plait::delta_net_plan_test {

Model nets(std::string pattern) {
  Model m = tiny_llama(static_cast<std::int64_t>(pattern.size()));
  m.name = "tiny-nets", m.layer_pattern = std::move(pattern);
  m.state_size = 6, m.state_heads = 4, m.state_head_dim = 8, m.state_groups = 2;
  m.scan_chunk = 4;
  m.attention_gate = true;
  return m;
}
Model nets_with_experts() {
  Model m = nets("gaga");
  m.experts = 4, m.experts_per_token = 2, m.expert_ffn_hidden = 8, m.shared_ffn_hidden = 8;
  m.shared_expert_gate = true;
  return m;
}

TEST(DeltaNet, RanksTogetherDoTheFlopsThatTheModelNeeds) {
  const auto first_time = [](const Op& op) { return op.phase != Phase::kRecompute; };
  for (const char* pattern : {"G*-G", "gaga", "GGGG"}) {
    const Model m = nets(pattern);
    const double needed = needed_flops_per_iteration(m, 8, 8).value;
    for (const Strategy& s : splits_of_mixers()) {
      const Plan plan = make_plan(m, tiny_workload(8), s);
      EXPECT_NEAR(flops_of(plan, first_time).value, needed, 1e-9 * needed);
      EXPECT_TRUE(validate(plan).empty());
    }
  }
}

TEST(DeltaNet, UnitsHoldTheParametersOfTheirParts) {
  const Model m = nets("G*ga");
  const ParameterCount n = count_parameters(m);
  const Plan plan = make_plan(m, tiny_workload(1), {});
  const auto weights = [&](const char* unit) {
    return tensor_named(plan, std::string(unit) + ".weights").elements(plan.mesh);
  };
  EXPECT_EQ(weights("delta_net_layer"), n.delta_net);
  EXPECT_EQ(weights("attention_layer"), n.attention);
  EXPECT_EQ(weights("delta_net_mlp_layer"), n.delta_net + n.mlp);
  EXPECT_EQ(weights("layer"), n.layer);
}

// Behind nets and behind attention: one unit for all, which each layer has.
TEST(DeltaNet, ExpertsOfLayersOfBothKindsAreOneUnit) {
  const Model m = nets_with_experts();
  Strategy strategy = split({.dp = 2}, 1);
  strategy.mesh[Axis::kEp] = 2;
  const Plan plan = make_plan(m, tiny_workload(4), strategy);
  EXPECT_TRUE(validate(plan).empty());
  const ParameterCount n = count_parameters(m);
  const std::int64_t all = 4 * 3 * 8 * m.hidden;
  EXPECT_EQ(tensor_named(plan, "experts.weights").elements(plan.mesh), all / 2) << "ep";
  const auto rest = [&](const char* unit) {
    return tensor_named(plan, std::string(unit) + ".weights").elements(plan.mesh);
  };
  EXPECT_EQ(rest("moe_layer"), n.moe_layer - all);
  EXPECT_EQ(rest("delta_net_moe_layer"), n.delta_net + n.experts - all);
}

// flash-linear-attention: what the first product made; q, k and v of each value head with four
// numbers of it; the inverses; y, the norm's statistics and its result. Beside them the product's
// input and the statistics of the norm before. In bf16, of s b tokens.
TEST(DeltaNet, KeepsWhatFlashLinearAttentionKeeps) {
  const Model m = nets("GG");
  const std::int64_t tokens = 8, d = m.state_width(), H = m.state_heads;
  const auto bytes = [&](std::int64_t t) {
    const std::int64_t qkv = 2 * H * m.state_size + d;
    const std::int64_t of_heads =
        2 * m.delta_input_width() + 2 * qkv + 4 * 4 * H + 2 * 4 * H + 2 * d + 4 * H + 2 * d;
    return tokens * (2 * m.hidden + 4 + of_heads / t);
  };
  const Plan whole = make_plan(m, tiny_workload(1), {});
  EXPECT_EQ(kept_by(whole, "delta_net_layer.forward"), bytes(1));
  const Plan halves = make_plan(m, tiny_workload(1), split({.tp = 2}));
  EXPECT_EQ(kept_by(halves, "delta_net_layer.forward"), bytes(2));
}

// The gate's numbers and the gated context more than without.
TEST(AttentionGate, KeepsItsNumbersAndWhatItMakes) {
  const Model with = nets("**");
  Model without = with;
  without.attention_gate = false;
  const auto kept = [](const Model& m) {
    return kept_by(make_plan(m, tiny_workload(1), {}), "attention_layer.forward");
  };
  EXPECT_EQ(kept(with) - kept(without), 8 * 2 * 2 * with.context_width());
}

TEST(DeltaNet, NetsSplitByHeadsSumTheirResultsOnly) {
  expect_results_alone_to_be_summed(nets("GG"), "delta_net_layer");
}

// The gate reads what the other projections read, and is where the heads are.
TEST(AttentionGate, SendsNothingMore) {
  for (const bool sp : {false, true}) {
    Model without = nets("**");
    Strategy s = split({.tp = 2});
    s.sequence_parallel = sp;
    const Plan gated = make_plan(without, tiny_workload(1), s);
    without.attention_gate = false;
    const Plan plain = make_plan(without, tiny_workload(1), s);
    for (const char* block : {"attention_layer.forward", "attention_layer.backward"}) {
      EXPECT_EQ(collectives(block_named(gated, block)), collectives(block_named(plain, block)))
          << block << (sp ? " with sp" : "");
    }
  }
}

// Products that are narrowed keep their inputs narrow; the gate of shared experts, of one column,
// stays as it is.
TEST(DeltaNet, LinearLayersReadNarrowCopies) {
  const Model m = nets_with_experts();
  for_each_narrowed(m, "delta_net_moe_layer.forward", [&](const MatMul& product, DType type) {
    EXPECT_TRUE((product.in == type) != (product.n == 1 || product.n == m.experts));
  });
}

TEST(DeltaNet, IsRefusedWhereItIsNotPlanned) {
  const Workload w = tiny_workload(8);
  const auto with = [](const char* pattern, auto change) {
    Model m = nets(pattern);
    change(m);
    return m;
  };
  const auto nothing = [](Model&) {};
  EXPECT_EQ(refusal_of(with("GG", [](Model& m) { m.state_size = 0; }), w, {}), "S151");
  EXPECT_EQ(refusal_of(with("GG", [](Model& m) { m.state_groups = 3; }), w, {}), "S151");
  EXPECT_EQ(refusal_of(with("aG", [](Model& m) { m.mtp_layers = 1; }), w, {}), "S152");
  EXPECT_EQ(refusal_of(with("Ga", [](Model& m) { m.mtp_layers = 1; }), w, {}), "");
  EXPECT_EQ(refusal_of(with("MG", nothing), w, {}), "S153");
  EXPECT_EQ(refusal_of(with("G*", nothing), w, split({.cp = 2})), "S154");
  Workload packed = w;
  packed.documents = {Packing::kPacked, 3, {}};
  EXPECT_EQ(refusal_of(with("G*", nothing), packed, {}), "S155");
  Strategy by_op;
  by_op.recompute.kind = Recompute::kOps;
  EXPECT_EQ(refusal_of(with("G*", nothing), w, by_op), "S156");
  EXPECT_EQ(refusal_of(with("GG", nothing), w, split({.tp = 4})), "S010") << "two key heads";
  EXPECT_EQ(refusal_of(with("ga", [](Model& m) { m.rope_head_dim = m.head_dim; }), w, {}), "S125");
  EXPECT_EQ(refusal_of(with("ga", [](Model& m) { m.rope_head_dim = 3; }), w, {}), "S125");
}

}  // namespace plait::delta_net_plan_test
