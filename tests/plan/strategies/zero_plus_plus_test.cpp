// ZeRO++: what crosses nodes, against the table of Wang et al. 2023 (arXiv 2306.10209, section 3,
// table 1): of M bytes of fp16 parameters ZeRO-3 sends 3 M between nodes in a step, hpZ saves the M
// of the backward gather, qwZ half of the forward one, qgZ three quarters of the gradients.
#include <string>

#include "tests/plan/tiny.h"

namespace plait::zero_plus_plus_test {

constexpr std::int64_t kNodes = 4, kRanks = 2;  // dp, fsdp

Plan plan_of(ZeroPlusPlusOptions options) {
  Strategy s = split({.dp = kNodes, .fsdp = kRanks}, 3);
  s.zero_plus_plus = options;
  Workload w = tiny_workload(8);
  w.precision.gradients = w.precision.reduction = DType::kBf16;
  Model m = tiny_llama(8);
  m.hidden = 64, m.ffn_hidden = 192, m.head_dim = 16, m.vocab = 512;
  return make_plan(m, w, s);
}

struct AcrossNodes {
  double weights = 0, gradients = 0;
};
/// Bytes that a node's ranks hand over or take in collectives that leave the node, relative to M. A
/// collective of S bytes over all ranks, or its part over dp on each of the node's ranks: S (n - 1)
/// / n, which table 1 calls S.
AcrossNodes across_nodes(const Plan& plan) {
  double m = 0;
  for (const char* unit : {"embedding", "layer", "head"}) {
    const Tensor t = tensor_named(plan, std::string(unit) + ".weights");
    const std::int64_t layers = t.scope == Scope::kLayer ? plan.layers : 1;
    m += static_cast<double>(layers * t.bytes(plan.mesh).value);
  }
  AcrossNodes out;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Collective* c = std::get_if<Collective>(&op.body);
    if (c == nullptr || !c->axes.has(Axis::kDp)) return;
    if (op.phase != Phase::kParamGather && op.phase != Phase::kGradSync) return;
    const bool on_each_rank = c->axes == AxisSet(Axis::kDp);
    const double bytes = static_cast<double>(c->bytes().value) * (on_each_rank ? kRanks : 1) / m;
    (op.phase == Phase::kGradSync ? out.gradients : out.weights) += bytes;
  });
  return out;
}

/// A scale of 4 bytes for up to 256 numbers of 2 bytes, and a little more where shares are no
/// multiple of that.
constexpr double kScales = 1.2 * 4 / 512;

TEST(ZeroPlusPlus, HpzGathersForBackwardWithinTheNode) {
  const Plan plan = plan_of({.secondary_shard = true});
  const AcrossNodes b = across_nodes(plan);
  EXPECT_DOUBLE_EQ(b.weights, 1);
  EXPECT_DOUBLE_EQ(b.gradients, 1);
  std::int64_t within = 0;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Collective* c = std::get_if<Collective>(&op.body);
    if (c != nullptr && op.phase == Phase::kParamGather) {
      within += c->axes == AxisSet(Axis::kFsdp) ? 1 : 0;
    }
  });
  EXPECT_EQ(within, plan.layers);  // the head's weights are still there
}

TEST(ZeroPlusPlus, QwzHalvesGathersAndQgzQuartersGradients) {
  const AcrossNodes weights =
      across_nodes(plan_of({.secondary_shard = true, .quantized_weights = true}));
  EXPECT_NEAR(weights.weights, 0.5, kScales);
  EXPECT_DOUBLE_EQ(weights.gradients, 1);
  const AcrossNodes gradients =
      across_nodes(plan_of({.secondary_shard = true, .quantized_gradients = true}));
  EXPECT_DOUBLE_EQ(gradients.weights, 1);
  EXPECT_NEAR(gradients.gradients, 0.25, kScales);
}

TEST(ZeroPlusPlus, AllThreeSendAQuarterOfZero3) {
  const AcrossNodes b = across_nodes(plan_of({true, true, true}));
  EXPECT_NEAR(b.weights + b.gradients, 0.75, 2 * kScales);
}

// Section 3.2: the price is a second shard, M / ranks of a node.
TEST(ZeroPlusPlus, SecondaryShardCostsTheShareOfANode) {
  const Plan plan = plan_of({.secondary_shard = true});
  const Tensor weights = tensor_named(plan, "layer.weights");
  const Tensor secondary = tensor_named(plan, "layer.secondary_shard");
  EXPECT_TRUE(secondary.persistent);
  EXPECT_EQ(kRanks * secondary.bytes(plan.mesh).value, weights.bytes(plan.mesh).value);
  const Tensor master = tensor_named(plan, "layer.master");  // over all ranks
  EXPECT_EQ(kNodes * kRanks * master.elements(plan.mesh), weights.elements(plan.mesh));
}

}  // namespace plait::zero_plus_plus_test
