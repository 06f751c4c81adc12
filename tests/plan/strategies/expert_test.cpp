// Expert parallelism: what ranks hold, what travels, and over whom gradients are reduced.
#include <cmath>
#include <sstream>

#include "core/error.h"
#include "model/iteration_flops.h"
#include "plan/memory.h"
#include "plan/print.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::expert_test {

constexpr CollectiveKind kExchange = CollectiveKind::kAllToAll;
constexpr CollectiveKind kReduce = CollectiveKind::kAllReduce;

/// Two of four experts per token.
Model tiny_mixture(std::int64_t layers = 2) {
  Model m = tiny_llama(layers);
  m.experts = 4, m.experts_per_token = 2, m.expert_ffn_hidden = 12;
  return m;
}
Strategy over(std::int64_t ep, Degrees d = {}, int zero_stage = 0) {
  Strategy s = split(d, zero_stage);
  s.mesh[Axis::kEp] = ep;
  return s;
}
Plan plan_of(const Strategy& s, const Model& m = tiny_mixture()) {
  const std::int64_t replicas = s.mesh.size_of(AxisSet(Axis::kDp) | Axis::kFsdp | Axis::kEp);
  return make_plan(m, tiny_workload(2 * replicas, 2), s);
}

/// k s b h elements of two bytes: a balanced microbatch's tokens in their slots.
constexpr std::int64_t kSlotBytes = 2 * 8 * 2 * 16 * 2;

TEST(ExpertParallel, LayerExchangesTokensTwiceForwardAndTwiceBackward) {
  // GShard: dispatch and combine; each rank sends (ep - 1) / ep of S = k s b h.
  for (const std::int64_t ep : {2, 4}) {
    const Plan plan = plan_of(over(ep));
    const Volume twice{2, 2 * kSlotBytes};
    EXPECT_EQ(traffic(block_named(plan, "moe_layer.forward"), kExchange, Axis::kEp), twice);
    EXPECT_EQ(traffic(block_named(plan, "moe_layer.backward"), kExchange, Axis::kEp), twice);
  }
}

// What is exchanged are the rows of s b tokens, each k times: kernels that send a token to a node
// once must know. Exchanges of heads are of no tokens.
TEST(ExpertParallel, ExchangesSayWhoseTokensTravel) {
  Strategy s = over(2, {.ulysses = 2});
  s.context.kind = ContextKind::kUlysses, s.experts.axes = kContextAxes | Axis::kEp;
  const Model m = tiny_mixture();
  int of_tokens = 0, of_heads = 0;
  for (const Op& op : block_named(plan_of(s), "moe_layer.forward").ops) {
    const Collective* c = std::get_if<Collective>(&op.body);
    if (c == nullptr || c->kind != kExchange) continue;
    if (c->axes == AxisSet(Axis::kUlysses)) {
      EXPECT_EQ(c->tokens.chosen, 0);
      ++of_heads;
      continue;
    }
    EXPECT_EQ(c->tokens.experts, m.experts);
    EXPECT_EQ(c->elements, 8 / 2 * 2 * c->tokens.chosen * c->tokens.width);
    ++of_tokens;
  }
  EXPECT_EQ(of_tokens, 2);
  EXPECT_EQ(of_heads, 2);
}

Strategy early_gates(std::int64_t ep) {
  Strategy s = over(ep);
  s.experts.gates = ExpertGates::kActivations;
  return s;
}

// A gate for each slot there, and its gradient back.
TEST(ExpertParallel, GatesOfActivationsTravelWithTheTokens) {
  const std::int64_t gates = kSlotBytes / 16;
  const Plan plan = plan_of(early_gates(2));
  const Volume expected{3, 2 * kSlotBytes + gates};
  EXPECT_EQ(traffic(block_named(plan, "moe_layer.forward"), kExchange, Axis::kEp), expected);
  EXPECT_EQ(traffic(block_named(plan, "moe_layer.backward"), kExchange, Axis::kEp), expected);
}

// k h elements of each token that gates of results keep, but for the gates in their slots.
TEST(ExpertParallel, GatesOfActivationsKeepNoResults) {
  const auto kept = [](const Plan& plan) {
    std::int64_t bytes = 0;
    for (const Tensor& t : plan.tensors) {
      const bool of_experts = t.name.starts_with("experts_");
      if (of_experts && t.kind == TensorClass::kActivation && t.scope == Scope::kLayerMicrobatch)
        bytes += t.bytes(plan.mesh).value;
    }
    return bytes;
  };
  for (const std::int64_t ep : {1, 2}) {
    EXPECT_EQ(kept(plan_of(over(ep))) - kept(plan_of(early_gates(ep))),
              kSlotBytes - kSlotBytes / 16);
  }
}

TEST(ExpertParallel, CapacityAndSkewScaleWhatTravels) {
  Workload w = tiny_workload(4, 2);
  w.capacity_factor = 1.5;  // ceil(1.5 * 2 * 8 / 4) = 6 slots instead of 4
  const Plan more = make_plan(tiny_mixture(), w, over(2));
  EXPECT_EQ(traffic(block_named(more, "moe_layer.forward"), kExchange, Axis::kEp).bytes,
            2 * kSlotBytes * 6 / 4);
  w.capacity_factor = 0, w.expert_skew = 1.25;  // 5 slots
  const Plan skewed = make_plan(tiny_mixture(), w, over(2));
  EXPECT_EQ(traffic(block_named(skewed, "moe_layer.forward"), kExchange, Axis::kEp).bytes,
            2 * kSlotBytes * 5 / 4);
  w.capacity_factor = std::numeric_limits<double>::infinity();  // a slot for every token
  EXPECT_EQ(tensor_named(make_plan(tiny_mixture(), w, over(2)), "experts_out").dims[1].global,
            8 * 2);
}

// A sequence's 3 choices need a slot at each of 4 experts; those of 5 sequences 5 where each has
// its own, and 4 where no token is dropped.
TEST(ExpertParallel, SlotsAreRoundedUpOncePerMicrobatchWithoutACapacity) {
  Model m = tiny_mixture();
  m.experts_per_token = 1;
  Workload w = tiny_workload(10, 5);
  w.sequence_length = 3;
  const auto slots = [&](double capacity_factor) {
    w.capacity_factor = capacity_factor;
    return tensor_named(make_plan(m, w, over(2)), "experts_out").dims[1].global;
  };
  EXPECT_EQ(slots(0), 4);  // ceil(5 * 3 / 4)
  EXPECT_EQ(slots(1), 5);  // 5 ceil(3 / 4)
}

TEST(ModelFlops, CountWhatExpertsComputeOfTheTokensThatAreKept) {
  Workload w = tiny_workload(4, 2);
  const auto flops_with = [&w](double capacity_factor) {
    w.capacity_factor = capacity_factor;
    const Plan plan = make_plan(tiny_mixture(), w, over(2));
    return std::pair(plan.model_flops.value, plan.unneeded_flops.value);
  };
  // 4 slots each for 16 choices of a sequence's 8 tokens are one for each choice.
  const auto [all, none] = flops_with(0);
  // 2 of 4 experts of three matrices (16, 12), forward and twice backward, of 4 sequences.
  const double routed =
      2.0 * 3 * (2 * 3 * 16 * 12) * 4 * 8 * static_cast<double>(tiny_mixture().moe_layers());
  EXPECT_EQ(none, 0);
  EXPECT_EQ(flops_with(1), std::pair(all, 0.0));
  EXPECT_EQ(flops_with(0.5), std::pair(all - routed / 2, 0.0)) << "half is dropped";
  EXPECT_EQ(flops_with(1.5), std::pair(all, routed / 2)) << "6 slots, of which 2 are empty";
}

TEST(ExpertParallel, EachRankHoldsItsShareOfTheExpertsAndAllOfTheRest) {
  const ParameterCount n = count_parameters(tiny_mixture());
  const std::int64_t experts = 4 * 3 * 16 * 12;
  for (const std::int64_t ep : {1, 2, 4}) {
    const Plan plan = plan_of(over(ep));
    EXPECT_EQ(tensor_named(plan, "experts.weights").elements(plan.mesh), experts / ep);
    EXPECT_EQ(tensor_named(plan, "moe_layer.weights").elements(plan.mesh), n.moe_layer - experts);
  }
}

// Jacobs et al. 2023, DeepSpeed Ulysses, section 3.2: queries, keys and values there and the
// context back, whatever follows attention.
TEST(ExpertParallel, LayersOfBothKindsExchangeTokensForHeads) {
  Model m = tiny_mixture(3);
  m.first_dense_layers = 1;
  Strategy s = over(2, {.ulysses = 2});
  s.context.kind = ContextKind::kUlysses, s.experts.axes = kContextAxes | Axis::kEp;
  const Plan plan = plan_of(s, m);
  const Volume expected{2, 8 / 2 * 2 * (2 * m.query_width() + 2 * m.key_width()) * 2};
  for (const char* block :
       {"layer.forward", "layer.backward", "moe_layer.forward", "moe_layer.backward"}) {
    EXPECT_EQ(traffic(block_named(plan, block), kExchange, Axis::kUlysses), expected) << block;
  }
  // Ranks along ulysses hold different tokens, so they may hold different experts too.
  EXPECT_EQ(tensor_named(plan, "experts.weights").elements(plan.mesh), 4 * 3 * 16 * 12 / 4);
}

TEST(ExpertParallel, GradientsOfExpertsAreReducedOverOtherRanksThanTheRest) {
  // Inside of data parallelism: the rest over dp x ep, experts over dp (Megatron-LM's expert data
  // parallel group).
  const Plan plan = plan_of(over(2, {.dp = 2}));
  const ParameterCount n = count_parameters(tiny_mixture());
  const std::int64_t experts = 4 * 3 * 16 * 12, bytes = 4, layers = 2;
  const std::int64_t rest = n.embedding + n.head + layers * (n.moe_layer - experts);
  EXPECT_EQ(traffic(plan, 0, kReduce, AxisSet(Axis::kDp) | Axis::kEp).bytes, bytes * rest);
  EXPECT_EQ(traffic(plan, 0, kReduce, Axis::kDp).bytes, bytes * layers * experts / 2);
  const Plan alone = plan_of(over(2));
  EXPECT_EQ(traffic(alone, 0, kReduce, Axis::kEp).bytes, bytes * rest);
  EXPECT_EQ(traffic(alone, 0, kReduce, Axis::kDp).bytes, 0);
}

TEST(ExpertParallel, ShardsTheOptimizerOfTheRestOverEpToo) {
  const Plan plan = plan_of(over(2, {.dp = 2}, 1));
  const auto share = [&](const char* unit) {
    const std::string name = unit;
    return static_cast<double>(tensor_named(plan, name + ".moment1").elements(plan.mesh)) /
           static_cast<double>(tensor_named(plan, name + ".weights").elements(plan.mesh));
  };
  EXPECT_DOUBLE_EQ(share("moe_layer"), 1.0 / 4);
  EXPECT_DOUBLE_EQ(share("experts"), 1.0 / 2);
}

TEST(ExpertParallel, ExpertsThatAreOnNoOtherRankAreNotSharded) {
  for (const int stage : {1, 2, 3}) {
    const Plan plan = plan_of(over(4, {}, stage));
    EXPECT_EQ(tensor_named(plan, "experts.moment1").elements(plan.mesh),
              tensor_named(plan, "experts.weights").elements(plan.mesh));
    EXPECT_TRUE(validate(plan).empty()) << stage;
  }
}

TEST(ExpertParallel, SequenceShardsMeetAtExpertsThatAreSplitOverTp) {
  // Each tp rank sends its s / tp tokens; behind the exchange the ranks gather those of all.
  Strategy s = over(2, {.tp = 2});
  s.sequence_parallel = true;
  const Plan plan = plan_of(s);
  const Block forward = block_named(plan, "moe_layer.forward");
  EXPECT_EQ(traffic(forward, kExchange, Axis::kEp), (Volume{2, 2 * kSlotBytes / 2}));
  EXPECT_EQ(tensor_named(plan, "experts_up").dims[2].local(plan.mesh), 2 * 12 / 2);
}

TEST(ExpertParallel, ExpertsOverTpAreWholeAndTokensTravelOverBoth) {
  Strategy s = over(2, {.tp = 2});
  s.sequence_parallel = true, s.experts.axes = AxisSet(Axis::kEp) | Axis::kTp;
  const Plan plan = plan_of(s);
  const Block forward = block_named(plan, "moe_layer.forward");
  EXPECT_EQ(traffic(forward, kExchange, AxisSet(Axis::kEp) | Axis::kTp),
            (Volume{2, 2 * kSlotBytes / 2}));
  EXPECT_EQ(tensor_named(plan, "experts_up").dims[2].local(plan.mesh), 2 * 12);
  EXPECT_EQ(tensor_named(plan, "experts_up").dims[0].local(plan.mesh), 1);
}

/// tp = 4 ranks, of which `ranks` split an expert, and ep.
Strategy experts_over(std::int64_t ranks, std::int64_t ep, int zero_stage = 0) {
  Strategy s = over(ep, {}, zero_stage);
  s.sequence_parallel = true;
  s.experts.axes = AxisSet(Axis::kEp) | Axis::kTp, s.experts.tp = ranks;
  s.split_layers(4);
  return s;
}
/// Heads, columns and tokens for four ranks.
Model wide_mixture(std::int64_t experts = 4) {
  Model m = tiny_mixture();
  m.experts = experts, m.heads = m.kv_heads = 4, m.head_dim = 4;
  return m;
}

// Megatron-LM, MoEAlltoAllTokenDispatcher: tokens go to the ranks of the same part of other
// experts, n = ep tp / E of them, and those of an expert's E ranks gather their slots, and back.
TEST(ExpertTensorParallel, TokensTravelBetweenRanksOfTheSamePart) {
  const std::int64_t tp = 4, split = 2, own = kSlotBytes / tp;  // of a shard of the sequence
  for (const std::int64_t ep : {1, 2}) {
    const Plan plan = plan_of(experts_over(split, ep), wide_mixture());
    const AxisSet dealt = plan.mesh.present(AxisSet(Axis::kEp) | Axis::kTp);
    for (const char* pass : {"moe_layer.forward", "moe_layer.backward"}) {
      const Block block = block_named(plan, pass);
      EXPECT_EQ(traffic(block, kExchange, dealt), (Volume{2, 2 * own}));
      // The full buffer: the slots that each of n ranks has sent to each of the E.
      EXPECT_EQ(traffic(block, CollectiveKind::kAllGather, Axis::kEtp), (Volume{1, split * own}));
      EXPECT_EQ(traffic(block, CollectiveKind::kReduceScatter, Axis::kEtp),
                (Volume{1, split * own}));
    }
    EXPECT_TRUE(validate(plan).empty());
  }
}

// Ranks 0 and 1 have the left and the right half of an expert's columns, 2 and 3 of another's.
TEST(ExpertTensorParallel, EachRankHoldsAPartOfItsExperts) {
  const std::int64_t h = 16, f = 12, experts = 8, matrices = 3;
  const Model m = wide_mixture(experts);
  for (const std::int64_t ep : {1, 2}) {
    for (const std::int64_t split : {1, 2, 4}) {
      const Plan plan = plan_of(experts_over(split, ep), m);
      const Tensor up = tensor_named(plan, "experts_up");
      EXPECT_EQ(up.dims[0].local(plan.mesh), experts / (ep * 4 / split));
      EXPECT_EQ(up.dims[2].local(plan.mesh), 2 * f / split);
      EXPECT_EQ(tensor_named(plan, "experts.weights").elements(plan.mesh),
                experts * matrices * h * f / (4 * ep));
      // All else is split over all four.
      EXPECT_EQ(tensor_named(plan, "output.weight").dims[0].local(plan.mesh), m.vocab / 4);
    }
  }
}

std::string text_of(const Plan& plan) {
  std::ostringstream out;
  print(out, plan);
  return out.str();
}

// The limits are the plans that are made without experts.tp.
TEST(ExpertTensorParallel, OverAllRanksOrOneIsAsWithoutIt) {
  for (const std::int64_t split : {1, 4}) {
    Strategy without = over(2, {.tp = 4});
    without.sequence_parallel = true;
    if (split == 1) without.experts.axes = AxisSet(Axis::kEp) | Axis::kTp;
    const Plan plan = plan_of(experts_over(split, 2), wide_mixture(8));
    EXPECT_EQ(plan.mesh.size, without.mesh.size);
    EXPECT_EQ(text_of(plan), text_of(plan_of(without, wide_mixture(8))));
  }
}

TEST(ExpertTensorParallel, StateOfExpertsIsShardedOverTheRanksThatHoldTheSamePart) {
  Strategy s = experts_over(2, 2, 1);
  s.mesh[Axis::kDp] = 2;
  const Plan plan = plan_of(s, wide_mixture());
  const auto share = [&](const std::string& unit) {
    return tensor_named(plan, unit + ".weights").elements(plan.mesh) /
           tensor_named(plan, unit + ".moment1").elements(plan.mesh);
  };
  EXPECT_EQ(share("experts"), 2);
  EXPECT_EQ(share("moe_layer"), 2 * 2);
}

// The parts of all ranks are the model's products, each once.
TEST(ExpertTensorParallel, TogetherRanksDoTheFlopsOfTheChosenExperts) {
  const auto all = [](const Op&) { return true; };
  const Model m = wide_mixture();
  for (const std::int64_t ep : {1, 2}) {
    const Plan plan = plan_of(experts_over(2, ep), m);
    EXPECT_DOUBLE_EQ(flops_of(plan, all).value, needed_flops_per_iteration(m, 8, 2 * ep).value);
  }
}

TEST(ExpertTensorParallel, RefusesWhatDoesNotDivide) {
  const auto refused = [](const Strategy& s, const Model& m) {
    try {
      plan_of(s, m);
    } catch (const InputError& e) {
      return e.text().code + " " + e.text().where.path;
    }
    return std::string("planned");
  };
  Strategy s = experts_over(2, 1);
  Model m = wide_mixture();
  EXPECT_EQ(refused(s, m), "planned");
  m.expert_ffn_hidden = 9;
  EXPECT_EQ(refused(s, m), "S010 strategy.expert_tp");
  m = wide_mixture();
  s.sequence_parallel = false;
  EXPECT_EQ(refused(s, m), "S093 strategy.expert_axes");
  s = experts_over(2, 1);
  s.experts.tp = 4;  // and pairs in the mesh
  EXPECT_EQ(refused(s, m), "S095 strategy.expert_tp");
  s = experts_over(2, 1);
  m.experts = 0;
  EXPECT_EQ(refused(s, m), "S044 strategy.expert_tp");
  s.mesh[Axis::kPp] = 2, s.pipeline.stage_tp = {4, 2};
  EXPECT_EQ(refused(s, wide_mixture()), "S053 strategy.expert_tp");
}

TEST(Mixture, TogetherRanksDoTheFlopsOfTheChosenExperts) {
  Model m = tiny_mixture(3);
  m.first_dense_layers = 1, m.shared_ffn_hidden = 8;
  const auto all = [](const Op&) { return true; };
  for (const std::int64_t ep : {1, 2, 4}) {
    const Strategy s = over(ep);
    const Plan plan = plan_of(s, m);
    EXPECT_DOUBLE_EQ(flops_of(plan, all).value, needed_flops_per_iteration(m, 8, 2 * ep).value);
  }
}

TEST(Mixture, KeepsWhatABackwardPassNeedsOfEachTokenAndSlot) {
  // Per token of a layer beyond what a dense one keeps: k (h + 2 f + f + h) of its slots, and gate
  // and slot index of each choice; and no MLP of its own, 3 ffn.
  const Plan dense = plan_of(over(1), tiny_llama(1)), mixture = plan_of(over(1), tiny_mixture(1));
  const auto kept = [](const Plan& plan) {
    std::int64_t n = 0;
    for (const Tensor& t : plan.tensors) {
      const bool saved = t.kind == TensorClass::kActivation && t.scope == Scope::kLayerMicrobatch;
      if (saved && t.name != "x" && t.name != "dx") n += t.bytes(plan.mesh).value;
    }
    return n;
  };
  const std::int64_t tokens = 8 * 2, k = 2, h = 16, f = 12, ffn = 24;
  const std::int64_t slots = k * (2 * h + 3 * f) * 2, choices = k * (2 + 8);
  EXPECT_EQ(kept(mixture) - kept(dense), tokens * (slots + choices - 3 * ffn * 2));
}

TEST(Mixture, HasDenseLayersWhereTheModelSaysSo) {
  Model m = tiny_mixture(5);
  m.first_dense_layers = 1, m.moe_every = 2;  // layers 1 and 3 of 0 .. 4
  EXPECT_EQ(m.moe_layers(), 2);
  const Plan plan = plan_of(over(2), m);
  std::vector<std::int32_t> dense;
  for (const Call& call : plan.programs[0].calls) {
    if (plan.blocks[call.block].name == "layer.forward") dense.push_back(call.layer);
  }
  EXPECT_EQ(dense, (std::vector<std::int32_t>{0, 2, 4}));
}

}  // namespace plait::expert_test
