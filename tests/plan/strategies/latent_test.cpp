// Multi-head latent attention: what a layer holds, computes, keeps and sends.
#include <set>

#include "core/error.h"
#include "model/iteration_flops.h"
#include "plan/memory.h"
#include "plan/serving.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::latent_test {

/// Heads of 4 + 2 columns with values of 3; latents of 10 and 6.
Model tiny_latent(std::int64_t q_lora_rank = 10) {
  Model m = tiny_llama();
  m.kv_heads = m.heads, m.head_dim = 4 + 2, m.rope_head_dim = 2, m.v_head_dim = 3;
  m.kv_lora_rank = 6, m.q_lora_rank = q_lora_rank;
  return m;
}
Plan plan_of(const Model& m, std::int64_t tp = 1, bool sequence_parallel = false) {
  Strategy s = split({.tp = tp});
  s.sequence_parallel = sequence_parallel;
  return make_plan(m, tiny_workload(2, 2), s);
}

TEST(LatentAttention, PlanHoldsTheParametersOfTheModel) {
  for (const std::int64_t rank : {0, 10}) {
    const Model m = tiny_latent(rank);
    const Plan plan = plan_of(m);
    EXPECT_EQ(tensor_named(plan, "layer.weights").elements(plan.mesh), count_parameters(m).layer);
  }
}

TEST(LatentAttention, FlopsAreThoseOfTheClosedFormula) {
  for (const std::int64_t rank : {0, 10}) {
    for (const std::int64_t tp : {1, 2}) {
      const Model m = tiny_latent(rank);
      const auto all = [](const Op&) { return true; };
      const double needed = needed_flops_per_iteration(m, 8, 2).value;
      // What makes the latents of the hidden state runs on every rank along tp.
      const std::int64_t columns = m.q_lora_rank + m.kv_lora_rank + m.rope_head_dim;
      const std::int64_t again = m.layers * 3 * 2 * (8 * 2) * 16 * columns * (tp - 1);
      EXPECT_DOUBLE_EQ(flops_of(plan_of(m, tp), all).value, needed + static_cast<double>(again));
    }
  }
}

// DeepSeek-AI 2024 (arXiv 2405.04434), section 2.1: a key is as wide as a query, a value is not.
TEST(LatentAttention, AttentionHasAllHeadsInBothWidths) {
  const Plan plan = plan_of(tiny_latent(), 2);
  int found = 0;
  for (const Op& op : block_named(plan, "layer.forward").ops) {
    const Compute* c = std::get_if<Compute>(&op.body);
    const Attention* a = c ? std::get_if<Attention>(c) : nullptr;
    if (a == nullptr) continue;
    EXPECT_EQ(a->heads, 2);
    EXPECT_EQ(a->kv_heads, 2);
    EXPECT_EQ(a->head_dim, 6);
    EXPECT_EQ(a->v_dim(), 3);
    ++found;
  }
  EXPECT_EQ(found, 1);
  EXPECT_EQ(tensor_named(plan, "qkv").dims[2].local(plan.mesh), 2 * (6 + 6 + 3));
  EXPECT_EQ(tensor_named(plan, "context").dims[2].local(plan.mesh), 2 * 3);
}

// Rows of 8 tokens of 2 sequences in two bytes.
constexpr std::int64_t kColumn = 8 * 2 * 2;

TEST(LatentAttention, TensorParallelForwardReducesNoMoreThanAnyLayer) {
  const Block block = block_named(plan_of(tiny_latent(), 2), "layer.forward");
  EXPECT_EQ(traffic(block, CollectiveKind::kAllReduce, Axis::kTp), (Volume{2, 2 * 16 * kColumn}));
  EXPECT_EQ(collectives(block), 2);
}

// Behind the two products of the heads: each latent's gradient, and that of the shared columns.
TEST(LatentAttention, TensorParallelBackwardReducesLatentsInPlaceOfTheHiddenState) {
  const Block block = block_named(plan_of(tiny_latent(), 2), "layer.backward");
  const std::int64_t mlp = 16, latents = 10 + 6 + 2;
  EXPECT_EQ(traffic(block, CollectiveKind::kAllReduce, Axis::kTp),
            (Volume{4, (mlp + latents) * kColumn}));
}

// megatron/core/transformer/multi_latent_attention.py: where tokens are sharded over tp, latents
// and the shared columns are gathered, and the MLP's input; attention's input is not.
TEST(LatentAttention, SequenceShardsGatherTheLatents) {
  const Block block = block_named(plan_of(tiny_latent(), 2, true), "layer.forward");
  const std::int64_t mlp = 16, latents = 10 + 6 + 2;
  EXPECT_EQ(traffic(block, CollectiveKind::kAllGather, Axis::kTp),
            (Volume{4, (mlp + latents) * kColumn}));
}

// DeepSeek-AI 2024 (arXiv 2412.19437), section 3.2.3: rows of all heads are made again, from what
// is kept of the latents and the shared columns.
const RecomputeOptions kFromLatents = {.kind = Recompute::kModules,
                                       .modules = {RecomputeModule::kLatents}};

TEST(LatentAttention, RecomputationFromLatentsKeepsNoRowsOfHeads) {
  const auto kept_of = [](RecomputeOptions recompute, std::string_view name) {
    Strategy s;
    s.recompute = std::move(recompute);
    const Plan plan = make_plan(tiny_latent(), tiny_workload(2, 2), s);
    std::set<std::string> read;  // by the backward pass, of what the forward pass left
    for (const Op& op : block_named(plan, name).ops) {
      for (const Operand& o : op.operands) {
        const Tensor& t = plan.tensors[o.tensor];
        if (o.use == Use::kRead && t.scope == Scope::kLayerMicrobatch) read.insert(t.name);
      }
    }
    return read;
  };
  const auto whole = kept_of({}, "layer.backward");
  const auto again = kept_of(kFromLatents, "layer.backward.modules");
  EXPECT_TRUE(whole.contains("qkv"));
  EXPECT_FALSE(whole.contains("rotary_keys"));
  EXPECT_FALSE(again.contains("qkv"));
  for (const char* kept : {"rotary_keys", "q_latent_normed", "kv_latent_normed", "q_latent"})
    EXPECT_TRUE(again.contains(kept)) << kept;
}

// Both products behind the norms run once more.
TEST(LatentAttention, RecomputationFromLatentsCostsTheTwoProductsOfTheHeads) {
  Strategy s;
  s.recompute = kFromLatents;
  const Model m = tiny_latent();
  const Plan plan = make_plan(m, tiny_workload(2, 2), s);
  const auto again = [](const Op& op) { return op.phase == Phase::kRecompute; };
  const std::int64_t queries = 10 * 4 * 6, keys_and_values = 6 * 4 * (4 + 3);
  EXPECT_EQ(flops_of(plan, again),
            Flops(static_cast<double>(m.layers * 2 * (8 * 2) * (queries + keys_and_values))));
}

TEST(LatentAttention, RecomputationFromLatentsNeedsLatents) {
  Strategy s;
  s.recompute = kFromLatents;
  EXPECT_THROW(make_plan(tiny_llama(), tiny_workload(2, 2), s), InputError);
}

Plan served(const Step& step, std::int64_t tp = 1, const ServingPrecision& precision = {}) {
  ServingLayout layout;
  layout.map = even_layers(2, 1);
  layout.mesh[Axis::kTp] = tp;
  return make_serving_plan(tiny_latent(), step, precision, layout, 64);
}
Bytes in_class(const Plan& plan, TensorClass kind) {
  return live_memory(plan, 0).by_class[static_cast<std::size_t>(kind)];
}
/// Bodies of one kind in the layers' blocks.
template <class Body>
std::vector<Body> bodies(const Plan& plan) {
  std::vector<Body> out;
  for (const Block& b : plan.blocks) {
    if (b.name != "layer.forward") continue;
    for (const Op& op : b.ops) {
      const auto* c = std::get_if<Compute>(&op.body);
      if (c != nullptr && std::holds_alternative<Body>(*c)) out.push_back(std::get<Body>(*c));
    }
  }
  return out;
}

TEST(ServedLatents, AreSoundForPromptsAndAnswers) {
  ServingPrecision fp8;
  fp8.products = fp8.expert_products = DType::kFp8;
  for (const std::int64_t tp : {1, 2, 4}) {
    for (const ServingPrecision& precision : {ServingPrecision(), fp8}) {
      for (const Step& step :
           {Step{{2, 3, 5}, {}, 2}, Step{{}, {4, 1, 6}, 4}, Step{{2, 3, 5}, {4, 1, 6}, 5}}) {
        const std::vector<PlanFault> faults = validate(served(step, tp, precision));
        EXPECT_TRUE(faults.empty()) << faults.front().text;
      }
    }
  }
}

// One latent and one rotary key of a token and layer, on each rank of tp: they have no heads.
TEST(ServedLatents, CacheIsALatentAndARotaryKey) {
  const Model m = tiny_latent();
  const std::int64_t token = (m.kv_lora_rank + m.rope_head_dim) * 2;
  for (const std::int64_t tp : {1, 2, 4}) {
    EXPECT_EQ(kv_bytes_per_token(m, {}, tp).value, token);
    EXPECT_EQ(in_class(served({{}, {1, 1, 8}, 1}, tp), TensorClass::kKvCache).value,
              64 * m.layers * token);
  }
}

// A single token's queries meet latents: all heads of the rank on one key, which is as wide as what
// the cache keeps; and the cache is read once, its values being columns of its keys.
TEST(ServedLatents, SingleTokensReadTheCacheOnceForAllHeads) {
  const Model m = tiny_latent();
  const Plan plan = served({{}, {3, 1, 40}, 3}, 2);
  const auto attention = bodies<Attention>(plan);
  ASSERT_EQ(attention.size(), 1U);
  const Attention& a = attention[0];
  EXPECT_EQ(a.heads, m.heads / 2);
  EXPECT_EQ(a.kv_heads, 1);
  EXPECT_EQ(a.head_dim, m.kv_lora_rank + m.rope_head_dim);
  EXPECT_EQ(a.v_dim(), m.kv_lora_rank);
  const std::int64_t cache = 3 * 40 * (m.kv_lora_rank + m.rope_head_dim) * 2;
  const std::int64_t own = 3 * a.heads * ((a.head_dim + a.v_dim()) * 2 + 4);  // Q, O, log-sum-exp
  EXPECT_EQ(memory_traffic(a).value, cache + own);
}

// (q W_uk) c = q (W_uk c): moving the products changes who is multiplied, not by what. Of one token
// they cost what making its own key and value would.
TEST(ServedLatents, MovedProductsMultiplyBySameWeights) {
  const Model m = tiny_latent();
  double moved = 0;
  for (const MatMul& g : bodies<MatMul>(served({{}, {1, 1, 8}, 1}))) {
    if (g.batch > 1) moved += flops(g).value;
  }
  EXPECT_EQ(moved, 2.0 * static_cast<double>(m.kv_up_width() * m.kv_lora_rank));
  EXPECT_EQ(in_class(served({{}, {1, 1, 8}, 1}), TensorClass::kWeight),
            in_class(served({{1, 1, 8}, {}, 1}), TensorClass::kWeight));
}

// A prompt whose beginning is in the cache makes keys and values of all that it sees.
TEST(ServedLatents, PromptsMakeKeysOfTheWholeContext) {
  const Model m = tiny_latent();
  const auto up = [&](const Plan& plan) {
    for (const MatMul& g : bodies<MatMul>(plan)) {
      if (g.k == m.kv_lora_rank && g.batch == 1) return g.m;
    }
    return std::int64_t{0};
  };
  EXPECT_EQ(up(served({{2, 3, 3}, {}, 2})), 6);
  EXPECT_EQ(up(served({{2, 3, 20}, {4, 1, 6}, 5})), 40);
  EXPECT_EQ(up(served({{}, {4, 1, 6}, 4})), 0);
  const auto attention = bodies<Attention>(served({{2, 3, 20}, {}, 2}));
  ASSERT_EQ(attention.size(), 1U);
  EXPECT_EQ(attention[0].kv_heads, m.heads);
  EXPECT_EQ(attention[0].seq_kv, 20);
}

TEST(LatentAttention, NumbersThatDoNotFitTogetherAreRefused) {
  const auto code = [](auto change) -> std::string {
    Model m = tiny_latent();
    change(m);
    try {
      plan_of(m);
    } catch (const InputError& e) {
      return e.text().code;
    }
    return "";
  };
  EXPECT_EQ(code([](Model& m) { m.kv_lora_rank = 0; }), "S120");
  EXPECT_EQ(code([](Model& m) { m.kv_heads = 2; }), "S121");
  EXPECT_EQ(code([](Model& m) { m.rope_head_dim = 3; }), "S121");
  EXPECT_EQ(code([](Model& m) { m.rope_head_dim = 6; }), "S121");
  EXPECT_EQ(code([](Model& m) { m.positions = PositionKind::kNone; }), "S122");
  EXPECT_EQ(code([](Model& m) { m.qkv_bias = true; }), "S122");
}

}  // namespace plait::latent_test
