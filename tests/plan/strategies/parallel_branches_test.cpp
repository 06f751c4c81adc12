// Attention and MLP side by side: behind a norm each or one for both, with biases or without.
#include <gtest/gtest.h>

#include "plan/serving.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::parallel_branches_test {

/// Falcon's layers.
Model side_by_side() {
  Model m = tiny_llama();
  m.parallel_attention = true;
  return m;
}
Model behind_one_norm() {
  Model m = side_by_side();
  m.shared_norm = true;
  return m;
}
/// GPT-NeoX's.
Model with_biases() {
  Model m = side_by_side();
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  return m;
}
Plan plan_of(const Model& m, std::int64_t tp = 1) {
  return make_plan(m, tiny_workload(1), split({.tp = tp}));
}
int norms_in(const Plan& plan, std::string_view block) {
  int n = 0;
  for (const Op& op : block_named(plan, block).ops) {
    const auto* c = std::get_if<Compute>(&op.body);
    if (c != nullptr && std::holds_alternative<Norm>(*c)) ++n;
  }
  return n;
}

TEST(ParallelBranches, HaveANormEachOrOneForBoth) {
  for (const char* block : {"layer.forward", "layer.backward"}) {
    EXPECT_EQ(norms_in(plan_of(side_by_side()), block), 2) << block;
    EXPECT_EQ(norms_in(plan_of(behind_one_norm()), block), 1) << block;
  }
  for (const Model& m : {side_by_side(), behind_one_norm(), with_biases()}) {
    const Plan plan = plan_of(m);
    EXPECT_EQ(tensor_named(plan, "layer.weights").elements(plan.mesh), count_parameters(m).layer);
  }
  EXPECT_EQ(count_parameters(side_by_side()).layer - count_parameters(behind_one_norm()).layer, 16);
}

// Ranks add up both branches at once, unless a bias has to be added to each. Backward they add up
// what comes through each norm, or through the one: activations of 8 tokens and 16 columns, bf16.
TEST(ParallelBranches, AreSummedOverTensorParallelRanksAsFewTimesAsCanBe) {
  const auto sums = [](const Model& m, std::string_view block) {
    return traffic(block_named(plan_of(m, 2), block), CollectiveKind::kAllReduce, Axis::kTp).bytes /
           (8 * 16 * 2);
  };
  EXPECT_EQ(sums(side_by_side(), "layer.forward"), 1);
  EXPECT_EQ(sums(behind_one_norm(), "layer.forward"), 1);
  EXPECT_EQ(sums(with_biases(), "layer.forward"), 2);
  EXPECT_EQ(sums(side_by_side(), "layer.backward"), 2);
  EXPECT_EQ(sums(behind_one_norm(), "layer.backward"), 1);
  EXPECT_EQ(sums(with_biases(), "layer.backward"), 2);
}

TEST(ParallelBranches, AreServedSoundly) {
  ServingLayout layout;
  layout.map = even_layers(2, 1);
  Model phi = with_biases();
  phi.shared_norm = phi.output_bias = true;
  for (const Model& m : {behind_one_norm(), with_biases(), phi}) {
    for (const std::int64_t tp : {1, 2}) {
      layout.mesh[Axis::kTp] = tp;
      for (const Step& step : {Step{{2, 3, 5}, {}, 2}, Step{{}, {4, 1, 6}, 4}}) {
        const std::vector<PlanFault> faults = validate(make_serving_plan(m, step, {}, layout, 64));
        EXPECT_TRUE(faults.empty()) << faults.front().text;
      }
    }
  }
}

}  // namespace plait::parallel_branches_test
