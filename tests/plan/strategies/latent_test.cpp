// Multi-head latent attention: what a layer holds, computes, keeps and sends.
#include <set>

#include "core/error.h"
#include "model/iteration_flops.h"
#include "plan/serving.h"
#include "tests/plan/tiny.h"

namespace plait {
namespace {

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
  EXPECT_EQ(traffic(block, CollectiveKind::kAllReduce, Axis::kTp), (Traffic{2, 2 * 16 * kColumn}));
  EXPECT_EQ(collectives(block), 2);
}

// Behind the two products of the heads: each latent's gradient, and that of the shared columns.
TEST(LatentAttention, TensorParallelBackwardReducesLatentsInPlaceOfTheHiddenState) {
  const Block block = block_named(plan_of(tiny_latent(), 2), "layer.backward");
  const std::int64_t mlp = 16, latents = 10 + 6 + 2;
  EXPECT_EQ(traffic(block, CollectiveKind::kAllReduce, Axis::kTp),
            (Traffic{4, (mlp + latents) * kColumn}));
}

// megatron/core/transformer/multi_latent_attention.py: where tokens are sharded over tp, latents
// and the shared columns are gathered, and the MLP's input; attention's input is not.
TEST(LatentAttention, SequenceShardsGatherTheLatents) {
  const Block block = block_named(plan_of(tiny_latent(), 2, true), "layer.forward");
  const std::int64_t mlp = 16, latents = 10 + 6 + 2;
  EXPECT_EQ(traffic(block, CollectiveKind::kAllGather, Axis::kTp),
            (Traffic{4, (mlp + latents) * kColumn}));
}

// DeepSeek-AI 2024 (arXiv 2412.19437), section 3.2.3: rows of all heads are made again, from what
// is kept of the latents and the shared columns.
TEST(LatentAttention, RecomputationFromLatentsKeepsNoRowsOfHeads) {
  const auto kept_of = [](Recompute kind, std::string_view name) {
    Strategy s;
    s.recompute.kind = kind;
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
  const auto whole = kept_of(Recompute::kNone, "layer.backward");
  const auto again = kept_of(Recompute::kLatents, "layer.backward.latents");
  EXPECT_TRUE(whole.contains("qkv"));
  EXPECT_FALSE(whole.contains("rotary_keys"));
  EXPECT_FALSE(again.contains("qkv"));
  for (const char* kept : {"rotary_keys", "q_latent_normed", "kv_latent_normed", "q_latent"})
    EXPECT_TRUE(again.contains(kept)) << kept;
}

// Both products behind the norms run once more.
TEST(LatentAttention, RecomputationFromLatentsCostsTheTwoProductsOfTheHeads) {
  Strategy s;
  s.recompute.kind = Recompute::kLatents;
  const Model m = tiny_latent();
  const Plan plan = make_plan(m, tiny_workload(2, 2), s);
  const auto again = [](const Op& op) { return op.phase == Phase::kRecompute; };
  const std::int64_t queries = 10 * 4 * 6, keys_and_values = 6 * 4 * (4 + 3);
  EXPECT_EQ(flops_of(plan, again),
            Flops(static_cast<double>(m.layers * 2 * (8 * 2) * (queries + keys_and_values))));
}

TEST(LatentAttention, RecomputationFromLatentsNeedsLatents) {
  Strategy s;
  s.recompute.kind = Recompute::kLatents;
  EXPECT_THROW(make_plan(tiny_llama(), tiny_workload(2, 2), s), InputError);
}

TEST(LatentAttention, ServingIsRefused) {
  const Step step{{}, {1, 1, 8}, 1};
  ServingLayout layout;
  layout.map = even_layers(2, 1);
  try {
    make_serving_plan(tiny_latent(), step, {}, layout, 8);
    ADD_FAILURE() << "planned";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "S097");
  }
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

}  // namespace
}  // namespace plait
