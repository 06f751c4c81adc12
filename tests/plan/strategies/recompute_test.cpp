// Recomputation: which FLOPs are repeated, and that nothing else changes.
#include <set>

#include "core/error.h"
#include "plan/memory.h"
#include "plan/validate.h"
#include "tests/model/small_hybrid.h"
#include "tests/plan/tiny.h"

namespace plait::recompute_test {

Plan plan_of(Recompute kind, std::int64_t layers = -1, Degrees degrees = {}) {
  Strategy s = split(degrees);
  s.recompute.kind = kind, s.recompute.layers = layers;
  return make_plan(tiny_gpt(4), tiny_workload(4), s);
}

bool again(const Op& op) { return op.phase == Phase::kRecompute; }
bool is_attention(const Op& op) {
  const Compute* c = std::get_if<Compute>(&op.body);
  return c != nullptr && std::holds_alternative<Attention>(*c);
}

/// Forward FLOPs of one layer for the 4 sequences of 8 tokens: qkv, attention's two products over
/// half of the square, output projection, two MLP projections.
double layer_forward() {
  const double s = 8, h = 16, tokens = 4 * s;
  return 2 * tokens * h * (3 * h + h + 4 * h + 4 * h) + 2 * tokens * s * h;
}
double attention_forward() { return 2 * (4 * 8.0) * 8 * 16; }

TEST(FullRecompute, RepeatsTheForwardFlopsOfEveryLayerExactly) {
  EXPECT_EQ(flops_of(plan_of(Recompute::kFull), again).value, 4 * layer_forward());
}

TEST(FullRecompute, RepeatsOnlyTheFirstLayersOfEachChunk) {
  EXPECT_EQ(flops_of(plan_of(Recompute::kFull, 1), again).value, 1 * layer_forward());
  EXPECT_EQ(flops_of(plan_of(Recompute::kFull, 0), again).value, 0);
  // Two stages of two layers: the first of each.
  EXPECT_EQ(flops_of(plan_of(Recompute::kFull, 1, {.pp = 2}), again).value, 2 * layer_forward());
}

TEST(FullRecompute, RepeatsEachNthLayerOfAStage) {
  const auto layers = [](std::int64_t every, Degrees degrees, std::int64_t chunks = 1) {
    Strategy s = split(degrees);
    s.recompute = {Recompute::kFull, -1, every};
    s.pipeline.chunks = chunks;
    if (chunks > 1) s.pipeline.schedule = Schedule::kInterleaved;
    return flops_of(make_plan(tiny_gpt(4), tiny_workload(4), s), again).value / layer_forward();
  };
  EXPECT_EQ(layers(2, {}), 2);
  EXPECT_EQ(layers(3, {}), 1);
  EXPECT_EQ(layers(5, {}), 0);
  EXPECT_EQ(layers(2, {.pp = 2}), 2);
  EXPECT_EQ(layers(2, {.pp = 2}, 2), 2);  // chunks of one layer: the second chunk of each stage
}

TEST(FullRecompute, RepeatsTheOutputMatrixLikeALayerIfAsked) {
  Strategy s;
  s.recompute = {.kind = Recompute::kFull, .head = true};
  const Plan plan = make_plan(tiny_gpt(4), tiny_workload(4), s);
  const double head = 2 * (4 * 8.0) * 16 * static_cast<double>(tiny_gpt().vocab);
  EXPECT_EQ(flops_of(plan, again).value, 4 * layer_forward() + head);
  for (const Op& op : block_named(plan, "head.backward.recompute").ops) {
    const Compute* c = std::get_if<Compute>(&op.body);
    EXPECT_FALSE(again(op) && c != nullptr && std::holds_alternative<CrossEntropy>(*c))
        << "the loss keeps its logits";
  }
  s.recompute.kind = Recompute::kNone;
  EXPECT_EQ(flops_of(make_plan(tiny_gpt(4), tiny_workload(4), s), again).value, 0);
}

TEST(FullRecompute, KeepsNothingOfAHeadThatIsComputedAgain) {
  Strategy s;
  s.recompute = {.kind = Recompute::kFull, .head = true};
  const Plan plan = make_plan(tiny_gpt(4), tiny_workload(4), s);
  for (const Op& op : block_named(plan, "head.forward.recompute").ops) {
    for (const Operand& o : op.operands) {
      const Tensor& t = plan.tensors[o.tensor];
      EXPECT_FALSE(o.use == Use::kWrite && t.name.starts_with("final_") && t.scope != Scope::kCall)
          << t.name;
    }
  }
}

/// What torchtitan's policy leaves out, with the products of single matrices in the order q, k, v,
/// output, gate, up, down: k, output and up.
TEST(RecomputeByOp, RepeatsEverySecondProductThatBackwardNeeds) {
  Strategy s;
  s.recompute.kind = Recompute::kOps;
  const Model m = tiny_llama(4);
  const double tokens = 4 * 8, h = 16, kv = 2 * 4, ffn = 24;
  EXPECT_EQ(flops_of(make_plan(m, tiny_workload(4), s), again).value,
            4 * 2 * tokens * h * (kv + h + ffn));
  // Without a gate down is the sixth product; its dropout mask is drawn again from its output.
  EXPECT_EQ(flops_of(plan_of(Recompute::kOps), again).value, 4 * 2 * tokens * h * (h + h + 4 * h));
}

/// Of a mixture k, output, the router's and the experts' products, which do not count as others do;
/// their last one only where what it writes is not kept as it has been exchanged.
TEST(RecomputeByOp, RepeatsExpertsButNoExchange) {
  Model m = tiny_llama(4);
  m.experts = 4, m.experts_per_token = 2, m.expert_ffn_hidden = 12;
  const auto plan_over = [&](std::int64_t ep) {
    Strategy s;
    s.mesh[Axis::kEp] = ep, s.recompute.kind = Recompute::kOps;
    return make_plan(m, tiny_workload(4), s);
  };
  const double tokens = 4 * 8, h = 16, kv = 2 * 4, slots = 2 * tokens;
  const double others = 2 * tokens * h * (kv + h + 4), up = 2 * slots * h * 2 * 12,
               down = 2 * slots * h * 12;
  EXPECT_EQ(flops_of(plan_over(1), again).value, 4 * (others + up + down));
  const Plan split_over_two = plan_over(2);
  EXPECT_EQ(flops_of(split_over_two, again).value, 4 * (others + up));
  for (const Block& block : split_over_two.blocks) {
    for (const Op& op : block.ops) EXPECT_FALSE(again(op) && op.stream != Stream::kCompute);
  }
}

/// The seventh product of a layer, down, is to be kept, and no gradient needs what it writes.
TEST(RecomputeByOp, KeepsWhatNothingReadsOnlyIfAsked) {
  const auto plan_with = [](bool unread, std::int64_t layers) {
    Strategy s;
    s.recompute = {.kind = Recompute::kOps, .unread = unread};
    return make_plan(tiny_llama(layers), tiny_workload(4), s);
  };
  const auto of_a_layer = [&](bool unread) {
    return live_memory(plan_with(unread, 4), 0).peak - live_memory(plan_with(unread, 3), 0).peak;
  };
  const std::int64_t tokens = 8, h = 16;
  EXPECT_EQ((of_a_layer(true) - of_a_layer(false)).value, 2 * tokens * h);
  EXPECT_EQ(flops_of(plan_with(true, 4), again).value, flops_of(plan_with(false, 4), again).value);
}

/// FLOPs of a llama's layers that are computed again where `keep` is kept, of 4 sequences.
double again_but(std::vector<KeptResult> keep, Degrees degrees = {}) {
  Strategy s = split(degrees);
  s.recompute = {.kind = Recompute::kOps, .keep = std::move(keep)};
  return flops_of(make_plan(tiny_llama(4), tiny_workload(4), s), again).value / 4;
}

TEST(RecomputeByOp, RepeatsAllThatIsNotNamedAndThatBackwardNeeds) {
  using enum KeptResult;
  const double tokens = 4 * 8, h = 16, kv = 2 * 4, ffn = 24;
  const double qkv = 2 * tokens * h * (h + 2 * kv), out = 2 * tokens * h * h,
               up = 2 * tokens * h * 2 * ffn;
  EXPECT_EQ(again_but({kQkv, kOut}), attention_forward() + up);
  EXPECT_EQ(again_but({kQkv}), attention_forward() + out + up);
  EXPECT_EQ(again_but({kAttention, kUp}), qkv + out);
  EXPECT_EQ(again_but({kAttention, kUp, kDown}), qkv + out);
  EXPECT_EQ(again_but({kQkv, kAttention, kOut, kUp}), 0);
  EXPECT_EQ(again_but({kOut}, {.tp = 2}), qkv + attention_forward() + up);
}

/// What tensor parallelism sums is kept as the sum: no collective runs again.
TEST(RecomputeByOp, KeepsTheSumOfPartialResults) {
  for (const bool sequence : {false, true}) {
    Strategy s = split({.tp = 2});
    s.sequence_parallel = sequence;
    s.recompute = {.kind = Recompute::kOps, .keep = {KeptResult::kOut}};
    const Plan plan = make_plan(tiny_llama(4), tiny_workload(4), s);
    for (const Op& op : block_named(plan, "layer.backward.ops").ops) {
      EXPECT_FALSE(again(op) && (name_of(op) == "all_reduce" || name_of(op) == "reduce_scatter"));
    }
  }
}

TEST(RecomputeByOp, NamesResultsOnlyOpByOp) {
  Strategy s;
  s.recompute = {.kind = Recompute::kFull, .keep = {KeptResult::kQkv}};
  EXPECT_EQ(refusal_of(tiny_llama(), tiny_workload(2), s), "S170");
}

TEST(RecomputeByOp, RepeatsNeitherAttentionNorWhatReduceScatterSums) {
  Strategy s = split({.tp = 2});
  s.recompute.kind = Recompute::kOps, s.sequence_parallel = true;
  const Plan plan = make_plan(tiny_llama(4), tiny_workload(4), s);
  const Block backward = block_named(plan, "layer.backward.ops");
  std::int64_t products = 0;
  for (const Op& op : backward.ops) {
    if (!again(op)) continue;
    EXPECT_FALSE(is_attention(op));
    EXPECT_NE(name_of(op), "reduce_scatter");
    products += name_of(op) == "matmul";
  }
  EXPECT_EQ(products, 2);  // k and up
}

TEST(SelectiveRecompute, RepeatsAttentionOfEveryLayerAndNothingElse) {
  const Plan plan = plan_of(Recompute::kSelective);
  EXPECT_EQ(flops_of(plan, again).value, 4 * attention_forward());
  const Block backward = block_named(plan, "layer.backward.selective");
  std::int64_t repeated = 0;
  for (const Op& op : backward.ops) {
    if (!again(op)) continue;
    ++repeated;
    EXPECT_TRUE(is_attention(op));
  }
  EXPECT_EQ(repeated, 1);
}

TEST(Recompute, LeavesTheOtherFlopsAsTheyAre) {
  const auto first_time = [](const Op& op) { return !again(op); };
  const double plain = flops_of(plan_of(Recompute::kNone), first_time).value;
  EXPECT_EQ(flops_of(plan_of(Recompute::kFull), first_time).value, plain);
  EXPECT_EQ(flops_of(plan_of(Recompute::kSelective), first_time).value, plain);
  EXPECT_EQ(flops_of(plan_of(Recompute::kOps), first_time).value, plain);
}

TEST(FullRecompute, RepeatsTheForwardCollectives) {
  const Plan plan = plan_of(Recompute::kFull, -1, {.tp = 2});
  const Volume forward =
      traffic(block_named(plan, "layer.forward.recompute"), CollectiveKind::kAllReduce, Axis::kTp);
  const Volume backward =
      traffic(block_named(plan, "layer.backward.recompute"), CollectiveKind::kAllReduce, Axis::kTp);
  EXPECT_EQ(forward.count, 2);
  EXPECT_EQ(backward.count, 2 + 2);
}

/// Names of what the forward pass leaves for the backward block of `name`.
std::set<std::string> left_for(const Plan& plan, std::string_view name) {
  std::set<std::string> out;
  for (const Op& op : block_named(plan, name).ops) {
    for (const Operand& o : op.operands) {
      const Tensor& t = plan.tensors[o.tensor];
      if (o.use == Use::kRead && t.scope == Scope::kLayerMicrobatch) out.insert(t.name);
    }
  }
  return out;
}

Strategy of_modules(std::vector<RecomputeModule> modules) {
  Strategy s;
  s.recompute = {.kind = Recompute::kModules, .modules = std::move(modules)};
  return s;
}

TEST(RecomputeByModule, KeepsAllButWhatIsNamed) {
  const Model m = tiny_llama(2);
  const Workload w = tiny_workload(2);
  const auto whole = left_for(make_plan(m, w, {}), "layer.backward");
  const Plan plan =
      make_plan(m, w, of_modules({RecomputeModule::kNorms, RecomputeModule::kActivations}));
  auto expected = whole;
  for (const char* forgotten : {"attention_input", "mlp_input", "mlp_activation"})
    EXPECT_EQ(expected.erase(forgotten), 1) << forgotten;
  EXPECT_EQ(left_for(plan, "layer.backward.modules"), expected);
  // Two norms and an activation, each in front of the first op that reads its result; no product.
  std::vector<std::string> repeated;
  for (const Op& op : block_named(plan, "layer.backward.modules").ops) {
    if (again(op)) repeated.emplace_back(name_of(op));
  }
  EXPECT_EQ(repeated, (std::vector<std::string>{"activation", "norm", "norm"}));
}

// The first product of the MLP, and what follows it but for the last.
TEST(RecomputeByModule, AnMlpCostsItsFirstProduct) {
  const Model m = tiny_llama(2);
  const Plan plan = make_plan(m, tiny_workload(4), of_modules({RecomputeModule::kMlp}));
  const double tokens = 4 * 8, h = 16, ffn = 24;
  const auto product = [](const Op& op) {
    return again(op) && std::holds_alternative<MatMul>(std::get<Compute>(op.body));
  };
  EXPECT_EQ(flops_of(plan, product).value, 2 * 2 * tokens * h * 2 * ffn);
}

Model tiny_mixture() {
  Model m = tiny_llama(2);
  m.experts = 4, m.experts_per_token = 2, m.expert_ffn_hidden = 8;
  return m;
}

// Its products, the router's too, and tokens on their way to experts and back once more, whether or
// not anything reads what came back.
TEST(RecomputeByModule, AMixtureRunsAgainToItsEnd) {
  Strategy s = split({});
  s.mesh[Axis::kEp] = 2;
  for (const ExpertGates gates : {ExpertGates::kResults, ExpertGates::kActivations}) {
    s.experts.gates = gates;
    s.recompute = {};
    const Plan kept = make_plan(tiny_mixture(), tiny_workload(4), s);
    s.recompute = {.kind = Recompute::kModules, .modules = {RecomputeModule::kMoe}};
    const Plan plan = make_plan(tiny_mixture(), tiny_workload(4), s);
    EXPECT_TRUE(validate(plan).empty());
    const auto of_mixture = [&plan](const Op& op) {
      const Compute* c = std::get_if<Compute>(&op.body);
      if (c == nullptr || !std::holds_alternative<MatMul>(*c)) return false;
      const std::string& weight = plan.tensors[op.operands[1].tensor].name;
      return weight.starts_with("layer.router.") || weight.starts_with("experts.");
    };
    const auto once = [&](const Op& op) { return op.phase == Phase::kForward && of_mixture(op); };
    EXPECT_GT(flops_of(plan, once).value, 0);
    EXPECT_EQ(flops_of(plan, [&](const Op& op) { return again(op) && of_mixture(op); }).value,
              flops_of(plan, once).value);
    // Forward and backward there and back: a third pass of the same.
    const auto sent = [](const Plan& p) {
      return traffic(p, 0, CollectiveKind::kAllToAll, Axis::kEp).bytes;
    };
    EXPECT_EQ(2 * sent(plan), 3 * sent(kept));
    for (const std::string& name : left_for(plan, "moe_layer.backward.modules"))
      EXPECT_FALSE(name.starts_with("expert") || name.starts_with("gates")) << name;
  }
}

// A checkpoint keeps its input as it came: what products of 8 bits read is cast again.
TEST(RecomputeByModule, OfAnInputIn8BitsTheWideOneIsKept) {
  Model m = tiny_mixture();
  m.shared_ffn_hidden = 8;
  Workload w = tiny_workload(4);
  w.precision.matmul = DType::kFp8;
  const auto keeps = [&w](const Model& model, RecomputeModule module, const char* block) {
    const Plan plan = make_plan(model, w, of_modules({module}));
    EXPECT_TRUE(validate(plan).empty());
    const auto left = left_for(plan, block);
    return std::pair(left.contains("mlp_input"), left.contains("mlp_input.fp8"));
  };
  const char *mixture = "moe_layer.backward.modules", *dense = "layer.backward.modules";
  EXPECT_EQ(keeps(m, RecomputeModule::kMoe, mixture), std::pair(true, false));
  EXPECT_EQ(keeps(m, RecomputeModule::kSharedExperts, mixture), std::pair(true, false));
  EXPECT_EQ(keeps(tiny_llama(2), RecomputeModule::kMlp, dense), std::pair(true, false));
  // Whose first product is not computed again.
  EXPECT_EQ(keeps(tiny_llama(2), RecomputeModule::kActivations, dense), std::pair(false, true));
}

// Nothing travels again for activations: gates that came with the tokens are no copies of a module.
TEST(RecomputeByModule, GatesOfActivationsStayWhereTheyCame) {
  Strategy s = of_modules({RecomputeModule::kExpertActivations});
  s.mesh[Axis::kEp] = 2, s.experts.gates = ExpertGates::kActivations;
  const Plan plan = make_plan(tiny_mixture(), tiny_workload(4), s);
  for (const Op& op : block_named(plan, "moe_layer.backward.modules").ops)
    EXPECT_FALSE(again(op) && std::holds_alternative<Collective>(op.body));
}

TEST(RecomputeByModule, AttentionGoesWithOtherModules) {
  const auto forgotten = [](std::vector<RecomputeModule> modules) {
    Workload w = tiny_workload(4);
    w.flash_attention = false;
    return left_for(make_plan(tiny_llama(2), w, of_modules(std::move(modules))),
                    "layer.backward.selective.modules");
  };
  const auto both = forgotten({RecomputeModule::kNorms, RecomputeModule::kAttention});
  Strategy alone;
  alone.recompute.kind = Recompute::kSelective;
  Workload w = tiny_workload(4);
  w.flash_attention = false;
  auto expected = left_for(make_plan(tiny_llama(2), w, alone), "layer.backward.selective");
  EXPECT_EQ(expected.erase("attention_input") + expected.erase("mlp_input"), 2);
  EXPECT_EQ(both, expected);
}

TEST(RecomputeByModule, NeedsModulesThatTheModelHas) {
  const auto refused = [](const Strategy& s) {
    return refusal_of(tiny_llama(), tiny_workload(2), s);
  };
  EXPECT_EQ(refused(of_modules({})), "S129");
  EXPECT_EQ(refused(of_modules({RecomputeModule::kSharedExperts})), "S124");
  EXPECT_EQ(refused(of_modules({RecomputeModule::kNorms, RecomputeModule::kLatents})), "S124");
  for (const RecomputeModule module : {RecomputeModule::kNorms, RecomputeModule::kActivations}) {
    const Strategy one = of_modules({module});
    EXPECT_EQ(refusal_of(small_hybrid("MM"), tiny_workload(2), one), "S124");
    EXPECT_TRUE(validate(make_plan(small_hybrid("M-"), tiny_workload(2), one)).empty());
  }
  Strategy s = of_modules({RecomputeModule::kNorms});
  s.recompute.kind = Recompute::kFull;
  EXPECT_EQ(refused(s), "S129");
}

}  // namespace plait::recompute_test
