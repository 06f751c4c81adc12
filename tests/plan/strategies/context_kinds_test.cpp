// Ulysses, the ring and both at once: what travels, what is computed, what is kept.
#include "plan/memory.h"
#include "tests/plan/tiny.h"

namespace plait::context_kinds_test {

constexpr CollectiveKind kExchange = CollectiveKind::kAllToAll, kShift = CollectiveKind::kShift;
constexpr std::int64_t kS = 16, kBatch = 2, kElement = 2;  // tokens, sequences, bytes

Plan plan_of(const Model& model, ContextOptions context, std::int64_t cp, std::int64_t tp = 1,
             Recompute recompute = Recompute::kNone) {
  Strategy s = split({.tp = tp});
  s.context = context, s.recompute.kind = recompute;
  s.share_tokens(cp);
  Workload w = tiny_workload(kBatch, kBatch);
  w.sequence_length = kS;
  return make_plan(model, w, s);
}
/// As many key-value heads as heads.
Model multi_head() {
  Model m = tiny_llama();
  m.kv_heads = m.heads;
  return m;
}
Volume passed(const Plan& plan, const char* block, CollectiveKind kind, Axis axis) {
  return traffic(block_named(plan, block), kind, axis);
}

// Jacobs et al. 2023, section 3.2: 3 s b h / n for queries, keys and values and s b h / n for the
// context, of each rank and pass; tensor parallelism takes its share of the heads.
TEST(Ulysses, LayerExchanges4SbhOverNInEachPass) {
  const Model m = multi_head();
  for (const std::int64_t n : {2, 4}) {
    const Plan plan = plan_of(m, {ContextKind::kUlysses}, n);
    const Volume expected{2, 4 * kS * kBatch * m.query_width() / n * kElement};
    EXPECT_EQ(passed(plan, "layer.forward", kExchange, Axis::kUlysses), expected);
    EXPECT_EQ(passed(plan, "layer.backward", kExchange, Axis::kUlysses), expected);
  }
  const Plan with_tp = plan_of(m, {ContextKind::kUlysses}, 2, 2);
  EXPECT_EQ(passed(with_tp, "layer.forward", kExchange, Axis::kUlysses),
            (Volume{2, 4 * kS * kBatch * m.query_width() / 4 * kElement}));
}

// Two key-value heads for four ranks: each rank is sent one of each, so 4 heads of keys travel.
TEST(Ulysses, RepeatsKeyValueHeadsThatAreFewerThanRanks) {
  const Model m = tiny_llama();
  const Plan plan = plan_of(m, {ContextKind::kUlysses}, 4);
  const std::int64_t columns = 2 * m.query_width() + 2 * 4 * m.head_dim;
  EXPECT_EQ(passed(plan, "layer.forward", kExchange, Axis::kUlysses),
            (Volume{2, kS / 4 * kBatch * columns * kElement}));
}

TEST(Ulysses, AttentionHasAllTokensOfAShareOfTheHeads) {
  const Plan plan = plan_of(multi_head(), {ContextKind::kUlysses}, 2, 2);
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Compute* c = std::get_if<Compute>(&op.body);
    const Attention* a = c ? std::get_if<Attention>(c) : nullptr;
    if (a == nullptr) return;
    EXPECT_EQ(a->seq_q, kS);
    EXPECT_EQ(a->seq_kv, kS);
    EXPECT_EQ(a->heads, 4 / (2 * 2));
    EXPECT_FALSE(a->balanced);
  });
}

// Queries, keys and values are kept as attention reads them, not as the projection wrote them; the
// context is kept twice, for attention and for the projection behind it (flash attention saves its
// output).
TEST(Ulysses, KeepsOneMoreContextThanTheUnsplitLayer) {
  const auto kept = [](const Plan& plan) {
    std::int64_t bytes = 0;
    for (const Tensor& t : plan.tensors) {
      const bool activation = t.kind == TensorClass::kActivation;
      if (activation && t.scope == Scope::kLayerMicrobatch) bytes += t.bytes(plan.mesh).value;
    }
    return bytes;
  };
  const Model m = multi_head();
  const Plan one = plan_of(m, {}, 1), split_up = plan_of(m, {ContextKind::kUlysses}, 2);
  EXPECT_EQ(2 * kept(split_up), kept(one) + kS * kBatch * m.query_width() * kElement);
}

// Megatron Core's p2p: n - 1 blocks of keys and values forward, of 2 s b kv_width / n each;
// backward n - 1 again, and n times the gradients of one.
TEST(Ring, BlockPassesEveryRankAndItsGradientsComeHome) {
  for (const Model& m : {multi_head(), tiny_llama()}) {
    for (const std::int64_t n : {2, 4}) {
      const Plan plan = plan_of(m, {ContextKind::kRing}, n);
      const std::int64_t block = 2 * kS * kBatch * m.key_width() / n * kElement;
      EXPECT_EQ(passed(plan, "layer.forward", kShift, Axis::kCp), (Volume{n - 1, (n - 1) * block}));
      EXPECT_EQ(passed(plan, "layer.backward", kShift, Axis::kCp),
                (Volume{2 * n - 1, (2 * n - 1) * block}));
    }
  }
}

TEST(Ring, EveryStepHasItsShareOfTheCausalPairs) {
  const auto attention = [](const Op& op) {
    return std::holds_alternative<Attention>(std::get<Compute>(op.body));
  };
  const double whole = flops_of(plan_of(tiny_llama(), {}, 1), attention).value;
  for (const std::int64_t n : {2, 4}) {
    const Plan plan = plan_of(tiny_llama(), {ContextKind::kRing}, n);
    EXPECT_EQ(flops_of(plan, attention).value, whole);
    std::int64_t step = 0;
    for (const Op& op : block_named(plan, "layer.forward").ops) {
      const Compute* c = std::get_if<Compute>(&op.body);
      const Attention* a = c ? std::get_if<Attention>(c) : nullptr;
      if (a == nullptr) continue;
      EXPECT_EQ(a->ring_step, step++);
      EXPECT_EQ(a->merges(), a->ring_step > 0);
      EXPECT_EQ(a->seq_q, kS / n);
      EXPECT_EQ(a->seq_kv, kS / n);
    }
    EXPECT_EQ(step, n);
  }
}

// The block at hand, the one that comes and, backward, three of gradients: none grows with n, while
// gathered keys are whole on every rank.
TEST(Ring, HoldsTwoBlocksOfKeysHoweverManyRanks) {
  const auto of_keys = [](const Plan& plan) {
    std::int64_t bytes = 0;
    for (const Tensor& t : plan.tensors) {
      if (t.name.starts_with("kv")) bytes = std::max(bytes, t.bytes(plan.mesh).value);
    }
    return bytes;
  };
  const Plan two = plan_of(tiny_llama(), {ContextKind::kRing}, 2),
             four = plan_of(tiny_llama(), {ContextKind::kRing}, 4);
  EXPECT_EQ(of_keys(two), 2 * of_keys(four));
  EXPECT_EQ(of_keys(plan_of(tiny_llama(), {}, 4)), 4 * of_keys(four));
}

// Attention alone again: the forward ring once more besides the backward one.
TEST(Ring, SelectiveRecomputationPassesTheKeysRoundAgain) {
  const Plan plan = plan_of(tiny_llama(), {ContextKind::kRing}, 4, 1, Recompute::kSelective);
  EXPECT_EQ(passed(plan, "layer.backward.selective", kShift, Axis::kCp).count, 3 + 2 * 4 - 1);
}
TEST(Ulysses, SelectiveRecomputationExchangesNothingAgain) {
  const Plan plan = plan_of(tiny_llama(), {ContextKind::kUlysses}, 2, 1, Recompute::kSelective);
  EXPECT_EQ(passed(plan, "layer.backward.selective", kExchange, Axis::kUlysses).count, 2);
}

// Fang and Zhao 2024 (USP, arXiv 2405.07719), section 3: the ring's blocks are those of the tokens
// that u ranks hold together, with a u-th of the heads, so a ring of n / u ranks sends
// (n / u - 1) 2 s b h / n of what each rank has.
TEST(Hybrid, RingsOfFewerRanksPassBlocksOfFewerHeads) {
  const Model m = multi_head();
  const Plan plan = plan_of(m, {ContextKind::kHybrid, 2}, 4);
  EXPECT_EQ(plan.mesh[Axis::kCp], 2);
  EXPECT_EQ(plan.mesh[Axis::kUlysses], 2);
  EXPECT_EQ(passed(plan, "layer.forward", kExchange, Axis::kUlysses),
            (Volume{2, 4 * kS * kBatch * m.query_width() / 4 * kElement}));
  EXPECT_EQ(passed(plan, "layer.forward", kShift, Axis::kCp),
            (Volume{1, 2 * kS * kBatch * m.query_width() / 4 * kElement}));
}

TEST(ContextKinds, ShareWeightsSoTheyReduceGradientsTogether) {
  for (const ContextOptions c :
       {ContextOptions{ContextKind::kUlysses}, ContextOptions{ContextKind::kHybrid, 2}}) {
    const Plan plan = plan_of(tiny_llama(), c, 4);
    const AxisSet axes = plan.mesh[Axis::kCp] > 1 ? kContextAxes : AxisSet(Axis::kUlysses);
    EXPECT_GT(traffic(plan, 0, CollectiveKind::kAllReduce, axes).bytes, 0);
  }
}

}  // namespace plait::context_kinds_test
