// Tokens gathered to the ranks of experts: what travels, what is kept, and that nothing else of the
// plan differs from that with an all_to_all.
#include <sstream>

#include "model/iteration_flops.h"
#include "plan/print.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::expert_gather_test {

constexpr CollectiveKind kGather = CollectiveKind::kAllGather,
                         kScatter = CollectiveKind::kReduceScatter;
constexpr std::int64_t kChosen = 2, kTokens = 8 * 2;  // of a microbatch
constexpr std::int64_t kRows = kTokens * 16 * 2;      // bytes of s b h elements
constexpr std::int64_t kGates = kTokens * kChosen * 2, kSlots = kTokens * kChosen * 8;

Model tiny_mixture() {
  Model m = tiny_llama(2);
  m.heads = m.kv_heads = 4, m.head_dim = 4;
  m.experts = 4, m.experts_per_token = kChosen, m.expert_ffn_hidden = 12;
  return m;
}
Strategy over(std::int64_t ep, std::int64_t tp = 1, ExpertGates gates = ExpertGates::kResults) {
  Strategy s = split({});
  s.mesh[Axis::kEp] = ep, s.mesh[Axis::kTp] = tp;
  s.sequence_parallel = tp > 1;
  s.experts.gates = gates, s.experts.dispatch = ExpertDispatch::kAllGather;
  return s;
}
Plan plan_of(const Strategy& s) {
  return make_plan(tiny_mixture(), tiny_workload(2 * s.mesh[Axis::kEp], 2), s);
}
Strategy by_all_to_all(Strategy s) {
  s.experts.dispatch = ExpertDispatch::kAllToAll;
  return s;
}

Volume to_experts(const Block& block, CollectiveKind kind, AxisSet axes) {
  Block exchanges;
  for (const Op& op : block.ops) {
    if (op.stream == Stream::kEp) exchanges.ops.push_back(op);
  }
  return traffic(exchanges, kind, axes);
}

/// Of n ranks with `share` of their tokens each: all_gathers of tokens, gates and slots and a
/// reduce_scatter of results; backward of the gradients of results, then of tokens and gates.
void expect_gathered(const Plan& plan, AxisSet axes, std::int64_t n, std::int64_t share = 1) {
  const Block forward = block_named(plan, "moe_layer.forward"),
              backward = block_named(plan, "moe_layer.backward");
  EXPECT_EQ(to_experts(forward, kGather, axes), (Volume{3, n * (kRows + kGates + kSlots) / share}));
  EXPECT_EQ(to_experts(forward, kScatter, axes), (Volume{1, n * kRows / share}));
  EXPECT_EQ(to_experts(backward, kGather, axes), (Volume{1, n * kRows / share}));
  EXPECT_EQ(to_experts(backward, kScatter, axes), (Volume{2, n * (kRows + kGates) / share}));
  EXPECT_EQ(to_experts(forward, CollectiveKind::kAllToAll, axes).count, 0);
  EXPECT_TRUE(validate(plan).empty());
}

// Megatron-Core, MoEAllGatherTokenDispatcher. The full buffer is n s b h, of which each rank sends
// (n - 1) / n, however many experts a token has.
TEST(ExpertGather, RanksHaveTheTokensOfAllAndSumUpTheirResults) {
  for (const ExpertGates gates : {ExpertGates::kResults, ExpertGates::kActivations}) {
    for (const std::int64_t ep : {2, 4})
      expect_gathered(plan_of(over(ep, 1, gates)), Axis::kEp, ep);
  }
}

// Ranks that split an expert and those that have others are one group: one gather for both, and
// parts of results are summed up where those of other experts are.
TEST(ExpertGather, ShardsOfSequencesAreGatheredWithIt) {
  const std::int64_t ep = 2, tp = 4;
  const AxisSet both = AxisSet(Axis::kEp) | Axis::kTp;
  expect_gathered(plan_of(over(ep, tp)), both, ep * tp, tp);
  expect_gathered(plan_of(over(1, tp)), Axis::kTp, tp, tp);
  Strategy whole = over(ep, tp);
  whole.experts.axes = both, whole.mesh[Axis::kEp] = 1;
  expect_gathered(plan_of(whole), Axis::kTp, tp, tp);
  Strategy pairs = over(ep);
  pairs.experts.axes = both, pairs.experts.tp = 2, pairs.sequence_parallel = true;
  pairs.split_layers(tp);
  expect_gathered(plan_of(pairs), both | Axis::kEtp, ep * tp, tp);
}

// All ranks along tp have a microbatch's tokens, and their parts of results are summed up as those
// of an MLP.
TEST(ExpertGather, TokensThatRanksAlongTpShareTravelOverEpAlone) {
  Strategy s = over(2, 2);
  s.sequence_parallel = false;
  const Plan plan = plan_of(s);
  expect_gathered(plan, Axis::kEp, 2);
  const Block forward = block_named(plan, "moe_layer.forward");
  EXPECT_EQ(traffic(forward, CollectiveKind::kAllReduce, Axis::kTp), (Volume{2, 2 * kRows}));
}

// Experts hold and multiply what they do with an all_to_all: the slots of all ranks' tokens.
TEST(ExpertGather, ExpertsDoTheSame) {
  const auto all = [](const Op&) { return true; };
  const Strategy s = over(2, 2);
  const Plan gathered = plan_of(s), exchanged = plan_of(by_all_to_all(s));
  for (const char* name : {"experts_up", "experts_input", "experts.weights", "experts.moment1"}) {
    EXPECT_EQ(tensor_named(gathered, name).elements(gathered.mesh),
              tensor_named(exchanged, name).elements(exchanged.mesh))
        << name;
  }
  EXPECT_DOUBLE_EQ(flops_of(gathered, all).value, flops_of(exchanged, all).value);
}

// Beside what an all_to_all keeps: which slots are a rank's own, of each choice of all tokens, and,
// where gates multiply results, those gates.
TEST(ExpertGather, KeepsTheChoicesOfAllTokens) {
  const auto kept = [](const Plan& plan) {
    std::int64_t bytes = 0;
    for (const Tensor& t : plan.tensors) {
      const bool saved = t.kind == TensorClass::kActivation && t.scope == Scope::kLayerMicrobatch;
      if (saved) bytes += t.bytes(plan.mesh).value;
    }
    return bytes;
  };
  const auto more = [&](ExpertGates gates) {
    const Strategy s = over(4, 1, gates);
    return kept(plan_of(s)) - kept(plan_of(by_all_to_all(s)));
  };
  EXPECT_EQ(more(ExpertGates::kResults), 4 * (kSlots + kGates));
  EXPECT_EQ(more(ExpertGates::kActivations), 4 * kSlots);
}

TEST(ExpertGather, OneRankHasNothingToGather) {
  const auto text = [](const Plan& plan) {
    std::ostringstream out;
    print(out, plan);
    return out.str();
  };
  EXPECT_EQ(text(plan_of(over(1))), text(plan_of(by_all_to_all(over(1)))));
}

}  // namespace plait::expert_gather_test
