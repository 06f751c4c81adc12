// Context parallelism: what of a sequence a rank holds, computes, keeps and sends.
#include "model/iteration_flops.h"
#include "plan/memory.h"
#include "tests/plan/tiny.h"

namespace plait::context_test {

constexpr CollectiveKind kGather = CollectiveKind::kAllGather;
constexpr CollectiveKind kScatter = CollectiveKind::kReduceScatter;
constexpr CollectiveKind kReduce = CollectiveKind::kAllReduce;

Plan plan_of(Degrees degrees, int zero_stage = 0, Recompute recompute = Recompute::kNone) {
  Strategy s = split(degrees, zero_stage);
  s.recompute.kind = recompute;
  return make_plan(tiny_llama(), tiny_workload(2, 2), s);
}

/// Keys and values of all tokens of a microbatch of tiny_llama: s b 2 kv_heads d of two bytes.
constexpr std::int64_t kKeyValues = 8 * 2 * (2 * 2 * 4) * 2;

TEST(ContextParallel, LayerGathersKeysAndValuesAndScattersTheirGradients) {
  for (const std::int64_t tp : {1, 2}) {  // heads split over tp travel by themselves
    const Plan plan = plan_of({.tp = tp, .cp = 2});
    const Block forward = block_named(plan, "layer.forward"),
                backward = block_named(plan, "layer.backward");
    const Volume once{1, kKeyValues / tp};
    EXPECT_EQ(traffic(forward, kGather, Axis::kCp), once);
    EXPECT_EQ(traffic(backward, kGather, Axis::kCp), once);  // not kept from the forward pass
    EXPECT_EQ(traffic(backward, kScatter, Axis::kCp), once);
    EXPECT_EQ(traffic(forward, kScatter, Axis::kCp), Volume{});
  }
}

TEST(ContextParallel, FullRecomputationGathersOnceMore) {
  const Plan plan = plan_of({.cp = 2}, 0, Recompute::kFull);
  EXPECT_EQ(traffic(block_named(plan, "layer.backward.recompute"), kGather, Axis::kCp),
            (Volume{2, 2 * kKeyValues}));
}

TEST(ContextParallel, RanksShareTheCausalPairsEvenly) {
  const auto attention = [](const Op& op) {
    return std::holds_alternative<Attention>(std::get<Compute>(op.body));
  };
  const double whole = flops_of(plan_of({}), attention).value;
  for (const std::int64_t cp : {2, 4}) {
    const Plan plan = plan_of({.cp = cp});
    EXPECT_EQ(flops_of(plan, attention).value, whole);  // over all cp ranks
    for_each_op(plan, 0, [&](const Call&, const Op& op) {
      const Compute* c = std::get_if<Compute>(&op.body);
      const Attention* a = c ? std::get_if<Attention>(c) : nullptr;
      if (a == nullptr) return;
      EXPECT_EQ(a->seq_q, 8 / cp);
      EXPECT_EQ(a->seq_kv, 8);
    });
  }
}

TEST(ContextParallel, ActivationsOfARankShrinkByTheDegree) {
  const Plan one = plan_of({}), four = plan_of({.cp = 4});
  for (const char* name : {"x", "qkv", "context", "mlp_up", "logits", "log_sum_exp"}) {
    EXPECT_EQ(4 * tensor_named(four, name).bytes(four.mesh).value,
              tensor_named(one, name).bytes(one.mesh).value)
        << name;
  }
}

TEST(ContextParallel, GradientsAreReducedOverReplicasAndContext) {
  const AxisSet axes = AxisSet(Axis::kDp) | Axis::kCp;
  const Plan cp = plan_of({.cp = 2}),
             both = make_plan(tiny_llama(), tiny_workload(4, 2), split({.dp = 2, .cp = 2}));
  const Plan dp = make_plan(tiny_llama(), tiny_workload(4, 2), split({.dp = 2}));
  const Volume expected = traffic(dp, 0, kReduce, Axis::kDp);
  EXPECT_GT(expected.bytes, 0);
  EXPECT_EQ(traffic(cp, 0, kReduce, Axis::kCp), expected);
  EXPECT_EQ(traffic(both, 0, kReduce, axes), expected);
}

TEST(ContextParallel, ShardsTheOptimizerAsReplicasDo) {
  // Megatron-LM's distributed optimizer shards over dp x cp.
  Strategy s = split({.dp = 2, .cp = 2}, 1);
  const Plan plan = make_plan(tiny_llama(), tiny_workload(4, 2), s);
  EXPECT_EQ(4 * tensor_named(plan, "layer.moment1").elements(plan.mesh),
            tensor_named(plan, "layer.weights").elements(plan.mesh));
}

TEST(ContextParallel, MessagesBetweenStagesShrink) {
  const auto sent = [](const Plan& plan) {
    std::int64_t bytes = 0;
    for_each_op(plan, 0, [&](const Call&, const Op& op) {
      if (const Send* send = std::get_if<Send>(&op.body)) bytes += send->bytes.value;
    });
    return bytes;
  };
  EXPECT_EQ(2 * sent(plan_of({.pp = 2, .cp = 2})), sent(plan_of({.pp = 2})));
}

}  // namespace plait::context_test
