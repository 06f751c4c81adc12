// Norms of queries and keys: what a layer holds, computes, keeps and sends for them.
#include "core/error.h"
#include "plan/memory.h"
#include "plan/serving.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::head_norm_test {

/// Four query heads and two key heads of 4 columns.
Model normed() {
  Model m = tiny_llama();
  m.qk_norm = true;
  return m;
}
Plan plan_of(const Model& m, std::int64_t tp = 1, bool sequence_parallel = false) {
  Strategy s = split({.tp = tp});
  s.sequence_parallel = sequence_parallel;
  return make_plan(m, tiny_workload(2, 2), s);
}
/// The one in this block.
HeadNorm norm_in(const Plan& plan, std::string_view block) {
  HeadNorm found;
  int n = 0;
  for (const Op& op : block_named(plan, block).ops) {
    const auto* c = std::get_if<Compute>(&op.body);
    if (c == nullptr || !std::holds_alternative<HeadNorm>(*c)) continue;
    found = std::get<HeadNorm>(*c);
    ++n;
  }
  EXPECT_EQ(n, 1) << block;
  return found;
}

TEST(HeadNorm, PlanHoldsTheParametersOfTheModel) {
  const Plan plan = plan_of(normed());
  EXPECT_EQ(tensor_named(plan, "layer.weights").elements(plan.mesh),
            count_parameters(normed()).layer);
}

TEST(HeadNorm, EachRankNormalisesItsHeads) {
  for (const std::int64_t tp : {1, 2}) {
    for (const char* block : {"layer.forward", "layer.backward"}) {
      const HeadNorm n = norm_in(plan_of(normed(), tp), block);
      EXPECT_EQ(n.rows, 8 * 2);
      EXPECT_EQ(n.heads, 4 / tp);
      EXPECT_EQ(n.kv_heads, 2 / tp);
      EXPECT_EQ(n.head_dim, 4);
      EXPECT_EQ(n.value_width, 2 * 4 / tp);
    }
  }
}

// OLMo 2: one norm of all queries and one of all keys, each with a gamma as wide.
TEST(HeadNorm, AcrossHeadsHasOneVectorOfQueriesAndOneOfKeys) {
  Model m = normed();
  m.qk_norm_across_heads = true;
  const Plan plan = plan_of(m);
  EXPECT_EQ(tensor_named(plan, "layer.weights").elements(plan.mesh), count_parameters(m).layer);
  EXPECT_EQ(count_parameters(m).layer - count_parameters(normed()).layer, (4 + 2) * 4 - 2 * 4);
  for (const char* block : {"layer.forward", "layer.backward"}) {
    const HeadNorm n = norm_in(plan, block);
    EXPECT_EQ(n.heads, 1);
    EXPECT_EQ(n.kv_heads, 1);
    EXPECT_EQ(n.head_dim, 4 * 4);
    EXPECT_EQ(n.key_dim, 2 * 4);
    EXPECT_EQ(n.value_width, 2 * 4);
  }
}

// Ranks along tp have the same gammas and other heads, so their gradients are summed at the end of
// the step, with those of sequence shards where there are any: 2 gammas of 4 in each of 2 layers,
// and 2 norms of 16 in each and the last one. fp32.
TEST(HeadNorm, GradientsOfGammasAreSummedOverTensorParallelRanks) {
  const auto sent = [](const Model& m, bool sequence_parallel) {
    for (const Block& b : plan_of(m, 2, sequence_parallel).blocks) {
      if (b.name == "norm_gradients")
        return traffic(b, CollectiveKind::kAllReduce, Axis::kTp).bytes;
    }
    return std::int64_t{0};
  };
  const std::int64_t heads = 2 * 2 * 4 * 4, shards = (2 * 2 + 1) * 16 * 4;
  EXPECT_EQ(sent(tiny_llama(), false), 0);
  EXPECT_EQ(sent(normed(), false), heads);
  EXPECT_EQ(sent(normed(), true), heads + shards);
}

// What was projected stays beside what attention reads, with a statistic for each head.
TEST(HeadNorm, KeepsItsInputForTheBackwardPass) {
  const auto kept = [](const Model& m) {
    return live_memory(plan_of(m), 0).by_class[static_cast<std::size_t>(TensorClass::kActivation)];
  };
  const std::int64_t tokens = 8 * 2, layers = 2, rows = (4 + 2 + 2) * 4 * 2, stats = (4 + 2) * 4;
  EXPECT_EQ((kept(normed()) - kept(tiny_llama())).value, tokens * layers * (rows + stats));
}

TEST(HeadNorm, IsServedSoundly) {
  ServingLayout layout;
  layout.map = even_layers(2, 1);
  for (const std::int64_t tp : {1, 2}) {
    layout.mesh[Axis::kTp] = tp;
    for (const Step& step : {Step{{2, 3, 5}, {}, 2}, Step{{}, {4, 1, 6}, 4}}) {
      const Plan plan = make_serving_plan(normed(), step, {}, layout, 64);
      const std::vector<PlanFault> faults = validate(plan);
      EXPECT_TRUE(faults.empty()) << faults.front().text;
      EXPECT_EQ(norm_in(plan, "layer.forward").heads, 4 / tp);
    }
  }
}

TEST(HeadNorm, IsRefusedWithLatentAttention) {
  Model m = normed();
  m.kv_heads = m.heads, m.head_dim = 4 + 2, m.rope_head_dim = 2, m.v_head_dim = 3;
  m.kv_lora_rank = 6;
  try {
    plan_of(m);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "S122");
    EXPECT_EQ(e.text().where.path, "model.qk_norm");
  }
}

}  // namespace plait::head_norm_test
