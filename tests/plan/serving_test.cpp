// Serving steps as plans: what they read, what they keep, and what they exchange.
#include "plan/serving.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/error.h"
#include "plan/memory.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::serving_test {

ServingLayout layout(std::int64_t layers, Degrees d = {}) {
  return {split(d).mesh, even_layers(layers, d.pp)};
}
Step decode_step(std::int64_t sequences, std::int64_t context) {
  return {{}, {sequences, 1, context}, sequences};
}

/// Sum of f over all ops of a stage, with repetition.
template <class F>
std::int64_t sum_over(const Plan& plan, std::size_t stage, F&& f) {
  std::int64_t sum = 0;
  for (const Call& call : plan.programs[stage].calls) {
    for (const Op& op : plan.blocks[call.block].ops) sum += f(op);
  }
  return sum;
}
std::int64_t product_flops(const Op& op) {
  const auto* c = std::get_if<Compute>(&op.body);
  if (c == nullptr || !std::holds_alternative<MatMul>(*c)) return 0;
  return static_cast<std::int64_t>(flops(*c).value);
}

TEST(ServingPlan, IsSoundForEveryLayout) {
  for (const Degrees d : {Degrees{}, Degrees{.tp = 2}, Degrees{.tp = 4}, Degrees{.pp = 2},
                          Degrees{.pp = 2, .dp = 2, .tp = 2}}) {
    const Step mixed = {{2, 3, 5}, {4, 1, 6}, 5};
    const Plan plan = make_serving_plan(tiny_llama(), mixed, {}, layout(2, d), 64);
    const std::vector<PlanFault> faults = validate(plan);
    EXPECT_TRUE(faults.empty()) << faults.front().text;
  }
}

// Rows that ranks look up are sums over them, as the norm wants them whole.
TEST(ServingPlan, SumsTheEmbeddingBeforeItsNorm) {
  Model m = tiny_llama();
  m.embedding_norm = true;
  const Step step = {{}, {4, 1, 6}, 4};
  const Plan plan = make_serving_plan(m, step, {}, layout(2, {.tp = 2}), 64);
  EXPECT_TRUE(validate(plan).empty());
  EXPECT_EQ(traffic(block_named(plan, "embedding.forward"), CollectiveKind::kAllReduce, Axis::kTp),
            (Volume{1, 2 * 4 * 16}));
}

// 2 FLOPs per weight and token; the head sees one row of each sequence that is sampled.
TEST(ServingPlan, ProductsMultiplyEachTokenByEachWeightOnce) {
  const Model m = tiny_llama(3);
  const Step step = {{2, 7, 7}, {4, 1, 6}, 6};
  const Plan plan = make_serving_plan(m, step, {}, layout(3), 64);
  const std::int64_t layer = m.hidden * m.qkv_width() + m.hidden * m.query_width() +
                             m.hidden * m.mlp_input_width() + m.ffn_hidden * m.hidden;
  EXPECT_EQ(sum_over(plan, 0, product_flops),
            2 * (3 * layer * step.tokens() + m.hidden * m.vocab * step.sampled));
}

// Kwon et al. 2023: 2 (keys, values) x layers x kv_heads x head_dim x bytes per token.
TEST(ServingPlan, CacheHoldsTwoKvHeadsPerLayerAndToken) {
  const Model m = tiny_llama(3);
  const Plan plan = make_serving_plan(m, decode_step(1, 8), {}, layout(3), 100);
  const StageMemory live = live_memory(plan, 0);
  const Bytes cache = live.by_class[static_cast<std::size_t>(TensorClass::kKvCache)];
  EXPECT_EQ(cache.value, 100 * 3 * 2 * m.kv_heads * m.head_dim * 2);
  EXPECT_EQ(cache.value, 100 * 3 * kv_bytes_per_token(m, {}, 1).value);
}

// 2 key heads on 4 ranks: each is on two of them, so that four ranks hold twice the bytes.
TEST(ServingPlan, KeyHeadsAreRepeatedWhereRanksExceedThem) {
  const Model m = tiny_llama();
  EXPECT_EQ(kv_bytes_per_token(m, {}, 2).value * 2, kv_bytes_per_token(m, {}, 1).value);
  EXPECT_EQ(kv_bytes_per_token(m, {}, 4), kv_bytes_per_token(m, {}, 2));
}

// Shoeybi et al. 2019: 2 all-reduces of tokens x hidden per layer, and one behind the vocabulary-
// parallel embedding; logits are gathered once.
TEST(ServingPlan, TensorParallelReducesTwicePerLayer) {
  const Model m = tiny_llama();
  const Plan plan = make_serving_plan(m, decode_step(5, 8), {}, layout(2, {.tp = 2}), 64);
  const auto bytes = [](CollectiveKind kind) {
    return [kind](const Op& op) -> std::int64_t {
      const auto* c = std::get_if<Collective>(&op.body);
      return c != nullptr && c->kind == kind ? c->bytes().value : 0;
    };
  };
  EXPECT_EQ(sum_over(plan, 0, bytes(CollectiveKind::kAllReduce)), (2 * 2 + 1) * 5 * m.hidden * 2);
  EXPECT_EQ(sum_over(plan, 0, bytes(CollectiveKind::kAllGather)), 5 * m.vocab * 2);
}

TEST(ServingPlan, StagesPassOneRowPerTokenOn) {
  const Model m = tiny_llama();
  const Plan plan = make_serving_plan(m, decode_step(5, 8), {}, layout(2, {.pp = 2}), 64);
  const auto sent = [](const Op& op) -> std::int64_t {
    const auto* s = std::get_if<Send>(&op.body);
    return s == nullptr ? 0 : s->bytes.value;
  };
  EXPECT_EQ(sum_over(plan, 0, sent), 5 * m.hidden * 2);
  EXPECT_EQ(sum_over(plan, 1, sent), 0);
}

// llama.cpp's block_q4_0: 18 bytes for 32 weights. Embedding, norms and head stay in 2 bytes.
TEST(ServingPlan, QuantisedLayersTakeTheBytesOfTheirFormat) {
  Model m = tiny_llama();
  m.hidden = 32, m.ffn_hidden = 64, m.head_dim = 8;
  const auto weights = [&](WeightFormat format) {
    ServingPrecision p;
    p.weights = format;
    const Plan plan = make_serving_plan(m, decode_step(1, 8), p, layout(2), 1);
    return live_memory(plan, 0).by_class[static_cast<std::size_t>(TensorClass::kWeight)].value;
  };
  const std::int64_t linear =
      2 * (m.hidden * m.qkv_width() + m.hidden * m.query_width() + 3 * m.hidden * m.ffn_hidden);
  EXPECT_EQ(weights(WeightFormat::kPlain) - weights(WeightFormat::kQ4_0),
            2 * linear - linear * 18 / 32);
}

TEST(ServingPlan, AttentionReadsTheWholeContextOfEachSequence) {
  const Model m = tiny_llama();
  const Plan plan = make_serving_plan(m, decode_step(3, 40), {}, layout(2), 200);
  const auto keys = [](const Op& op) -> std::int64_t {
    const auto* c = std::get_if<Compute>(&op.body);
    const auto* a = c == nullptr ? nullptr : std::get_if<Attention>(c);
    return a == nullptr ? 0 : a->batch * a->seq_kv * a->kv_heads;
  };
  EXPECT_EQ(sum_over(plan, 0, keys), 2 * 3 * 40 * m.kv_heads);
}

// get_pp_indices of vLLM: 10 layers on 4 stages are 2, 3, 3, 2.
TEST(LayerMap, RemainderGoesToTheStagesBeforeTheLast) {
  std::vector<std::int64_t> count(4);
  for (const LayerPlace& p : even_layers(10, 4).layers) ++count[static_cast<std::size_t>(p.stage)];
  EXPECT_EQ(count, (std::vector<std::int64_t>{2, 3, 3, 2}));
}

/// 8 experts of which a token chooses 2, one dense layer first, shared experts.
Model tiny_mixture(std::int64_t layers) {
  Model m = tiny_llama(layers);
  m.experts = 8, m.experts_per_token = 2, m.expert_ffn_hidden = 12;
  m.shared_ffn_hidden = 20, m.first_dense_layers = 1;
  return m;
}

TEST(ServingPlan, MixturesAreSoundForEveryLayout) {
  for (const Degrees d :
       {Degrees{}, Degrees{.tp = 2}, Degrees{.pp = 3}, Degrees{.pp = 3, .dp = 2, .tp = 2}}) {
    const Step mixed = {{2, 3, 5}, {4, 1, 6}, 5};
    const Plan plan = make_serving_plan(tiny_mixture(3), mixed, {}, layout(3, d), 64);
    const std::vector<PlanFault> faults = validate(plan);
    EXPECT_TRUE(faults.empty()) << faults.front().text;
  }
}

/// {experts, tokens of each} of the experts' products, in the order of the first stage.
std::vector<std::array<std::int64_t, 2>> expert_products(const Plan& plan) {
  std::vector<std::array<std::int64_t, 2>> out;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const auto* c = std::get_if<Compute>(&op.body);
    const auto* g = c == nullptr ? nullptr : std::get_if<MatMul>(c);
    if (g != nullptr && g->batch > 1) out.push_back({g->batch, g->m});
  });
  return out;
}

// A token alone meets the 2 experts that it chooses; of n tokens that choose freely, an expert is
// left alone by all with probability (3/4)^n: 3 tokens meet 8 (1 - 27/64) = 4.6 of 8, so 5, and
// their 6 choices need 2 slots at each.
TEST(ServingPlan, FewTokensReadFewExperts) {
  const auto products = [](std::int64_t sequences) {
    return expert_products(
        make_serving_plan(tiny_mixture(2), decode_step(sequences, 4), {}, layout(2), 9));
  };
  using Products = std::vector<std::array<std::int64_t, 2>>;
  EXPECT_EQ(products(1), (Products{{2, 1}, {2, 1}}));
  EXPECT_EQ(products(3), (Products{{5, 2}, {5, 2}}));
  EXPECT_EQ(products(64), (Products{{8, 16}, {8, 16}}));
}

// All experts are held, however few are met; the router stays as it is (llama.cpp keeps it in full
// precision): 18 bytes for 32 weights of everything else in the layers.
TEST(ServingPlan, QuantisedMixturesKeepTheirRouters) {
  Model m = tiny_mixture(2);
  m.hidden = 32, m.ffn_hidden = 64, m.head_dim = 8, m.expert_ffn_hidden = m.shared_ffn_hidden = 32;
  const auto weights = [&](WeightFormat format, WeightFormat experts) {
    ServingPrecision p;
    p.weights = format, p.experts = experts;
    const Plan plan = make_serving_plan(m, decode_step(1, 8), p, layout(2), 1);
    return live_memory(plan, 0).by_class[static_cast<std::size_t>(TensorClass::kWeight)].value;
  };
  constexpr auto kPlain = WeightFormat::kPlain, kQ4 = WeightFormat::kQ4_0;
  const std::int64_t attention = 2 * m.hidden * (m.qkv_width() + m.query_width());
  const std::int64_t mlps = 3 * m.hidden * (m.ffn_hidden + m.shared_ffn_hidden);
  const std::int64_t experts = 3 * m.hidden * 8 * m.expert_ffn_hidden;
  const std::int64_t others = attention + mlps;
  EXPECT_EQ(weights(kPlain, kPlain) - weights(kQ4, kPlain), 2 * others - others * 18 / 32);
  EXPECT_EQ(weights(kPlain, kPlain) - weights(kPlain, WeightFormat::kMxfp4),
            2 * experts - experts * 17 / 32);
}

std::int64_t weight_bytes(const Plan& plan) {
  return live_memory(plan, 0).by_class[static_cast<std::size_t>(TensorClass::kWeight)].value;
}
/// Collectives of one kind over `axes` in a stage.
Volume traffic(const Plan& plan, CollectiveKind kind, AxisSet axes) {
  Volume sum;
  for (const Call& call : plan.programs[0].calls) {
    for (const Op& op : plan.blocks[call.block].ops) {
      const auto* c = std::get_if<Collective>(&op.body);
      if (c == nullptr || c->kind != kind || c->axes != axes) continue;
      ++sum.count, sum.bytes += c->bytes().value;
    }
  }
  return sum;
}
Plan shared(const Model& m, const Step& step, Degrees d, ExpertSharing how) {
  ServingLayout l = layout(m.layers, d);
  l.experts = how;
  return make_serving_plan(m, step, {}, l, 64);
}
Plan dealt(const Model& m, const Step& step, Degrees d) {
  return shared(m, step, d, ExpertSharing::kDealt);
}

TEST(ServingExpertParallel, IsSoundForEveryLayout) {
  for (const Degrees d : {Degrees{}, Degrees{.tp = 2}, Degrees{.dp = 4}, Degrees{.dp = 2, .tp = 4},
                          Degrees{.pp = 3, .dp = 2, .tp = 2}}) {
    for (const ExpertSharing how : {ExpertSharing::kDealt, ExpertSharing::kDivided}) {
      if (how == ExpertSharing::kDivided && d.dp * d.tp == 8) continue;  // of 12 columns
      const std::vector<PlanFault> faults =
          validate(shared(tiny_mixture(3), {{2, 3, 5}, {4, 1, 6}, 5}, d, how));
      EXPECT_TRUE(faults.empty()) << faults.front().text;
    }
  }
}

// vLLM without --enable-expert-parallel: the tokens of all replicas travel as they do to experts
// that are dealt, each rank has as much of the experts, and multiplies as much.
TEST(ServingExpertParallel, ReplicasMayDivideEachExpert) {
  const Model m = tiny_mixture(2);
  const Step step = decode_step(5, 8);
  for (const Degrees d : {Degrees{.dp = 4}, Degrees{.dp = 2, .tp = 2}}) {
    const Plan whole = dealt(m, step, d), cut = shared(m, step, d, ExpertSharing::kDivided);
    for (const CollectiveKind kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
      EXPECT_EQ(traffic(cut, kind, Axis::kDp), traffic(whole, kind, Axis::kDp));
    }
    EXPECT_EQ(traffic(cut, CollectiveKind::kAllReduce, Axis::kTp),
              traffic(whole, CollectiveKind::kAllReduce, Axis::kTp));
    EXPECT_EQ(weight_bytes(cut), weight_bytes(whole));
    EXPECT_LT(weight_bytes(cut), weight_bytes(make_serving_plan(m, step, {}, layout(2, d), 64)));
  }
  EXPECT_THROW(shared(m, step, {.dp = 5}, ExpertSharing::kDivided), InputError);
}

// Over tp alone nothing more is sent than with divided experts: the sum of what each rank's experts
// make of the same tokens is the all-reduce that there is. Weights are as many, cut otherwise.
TEST(ServingExpertParallel, OverTpMovesWeightsNotTokens) {
  const Model m = tiny_mixture(2);
  const Step step = decode_step(5, 8);
  const Plan cut = make_serving_plan(m, step, {}, layout(2, {.tp = 4}), 64);
  const Plan whole = dealt(m, step, {.tp = 4});
  EXPECT_EQ(traffic(whole, CollectiveKind::kAllReduce, Axis::kTp),
            traffic(cut, CollectiveKind::kAllReduce, Axis::kTp));
  EXPECT_EQ(weight_bytes(whole), weight_bytes(cut));
}

// Tokens and logits of all replicas to each, results back: vLLM's allgather_reducescatter. Experts
// are divided by dp tp, not by tp.
TEST(ServingExpertParallel, ReplicasShareExpertsAndExchangeTokens) {
  const Model m = tiny_mixture(2);
  const Step step = decode_step(5, 8);
  const Plan apart = make_serving_plan(m, step, {}, layout(2, {.dp = 4, .tp = 2}), 64);
  const Plan plan = dealt(m, step, {.dp = 4, .tp = 2});
  EXPECT_EQ(traffic(apart, CollectiveKind::kAllGather, Axis::kDp), (Volume{0, 0}));
  EXPECT_EQ(traffic(plan, CollectiveKind::kAllGather, Axis::kDp),
            (Volume{2, 4 * 5 * (m.hidden + m.experts) * 2}));
  EXPECT_EQ(traffic(plan, CollectiveKind::kReduceScatter, Axis::kDp),
            (Volume{1, 4 * 5 * m.hidden * 2}));
  const std::int64_t experts = 2 * 8 * 3 * m.hidden * m.expert_ffn_hidden;  // in 2 bytes
  EXPECT_EQ(weight_bytes(apart) - weight_bytes(plan), experts / 2 - experts / 8);
}

// 3 tokens on each of 4 ranks: 12 that choose 2 of 8 meet 8 (1 - 0.75^12) = 7.7, so that a rank's 2
// are met; of 24 choices each has 3.
TEST(ServingExpertParallel, ARankComputesItsOwnExpertsForAllTokens) {
  const Plan plan = dealt(tiny_mixture(2), decode_step(3, 4), {.dp = 4});
  EXPECT_EQ(expert_products(plan), (std::vector<std::array<std::int64_t, 2>>{{2, 3}, {2, 3}}));
}

TEST(ServingExpertParallel, NeedsExpertsThatRanksCanShare) {
  const auto code = [](const Model& m, Degrees d) -> std::string {
    try {
      dealt(m, decode_step(1, 1), d);
    } catch (const InputError& e) {
      return e.text().code;
    }
    return "";
  };
  EXPECT_EQ(code(tiny_llama(2), {.tp = 2}), "S128");
  EXPECT_EQ(code(tiny_mixture(2), {.dp = 3}), "S092");
}

// Blocks of 16 share a scale of one byte: 9 bytes of 16 weights. Each input is cast once, by
// magnitudes that are known.
TEST(ServingPlan, ProductsInFourBitsReadNarrowWeightsAndInputs) {
  Model m = tiny_mixture(2);
  m.hidden = 32, m.ffn_hidden = 64, m.head_dim = 8, m.expert_ffn_hidden = m.shared_ffn_hidden = 32;
  ServingPrecision plain, experts, all;
  experts.expert_products = all.expert_products = all.products = DType::kNvfp4;
  const auto plan_of = [&](const ServingPrecision& p) {
    return make_serving_plan(m, decode_step(1, 8), p, layout(2), 1);
  };
  const auto saved = [&](const ServingPrecision& p) {
    return weight_bytes(plan_of(plain)) - weight_bytes(plan_of(p));
  };
  const std::int64_t of_experts = 3 * m.hidden * 8 * m.expert_ffn_hidden;
  const std::int64_t others = 2 * m.hidden * (m.qkv_width() + m.query_width()) +
                              3 * m.hidden * (m.ffn_hidden + m.shared_ffn_hidden);
  EXPECT_EQ(saved(experts), of_experts * 2 - of_experts * 9 / 16);
  EXPECT_EQ(saved(all), (of_experts + others) * 2 - (of_experts + others) * 9 / 16);
  EXPECT_TRUE(validate(plan_of(all)).empty());
  for_each_op(plan_of(all), 0, [](const Call&, const Op& op) {
    const auto* c = std::get_if<Compute>(&op.body);
    const Cast* cast = c != nullptr ? std::get_if<Cast>(c) : nullptr;
    if (cast == nullptr || cast->to != DType::kNvfp4) return;
    EXPECT_TRUE(cast->scaled);
  });
}

// TensorRT-LLM's layer: sums, casts to fp8 and the write into the cache are no kernels of their
// own; products, norms, attention and what is sent stay as they are.
TEST(ServingPlan, FusedElementwiseWorkLeavesProductsAndMessages) {
  ServingPrecision apart, fused;
  apart.products = fused.products = DType::kFp8;
  fused.fused_elementwise = true;
  const Model m = tiny_llama();
  const auto plan_of = [&](const ServingPrecision& p, Degrees d) {
    return make_serving_plan(m, {{2, 3, 5}, {4, 1, 6}, 5}, p, layout(2, d), 64);
  };
  const auto of_layers = [](const Plan& plan, auto kind) {
    std::int64_t n = 0;
    for (const Block& b : plan.blocks) {
      if (!b.name.starts_with("layer")) continue;
      for (const Op& op : b.ops) {
        const auto* c = std::get_if<Compute>(&op.body);
        n += c != nullptr && std::holds_alternative<decltype(kind)>(*c) ? 1 : 0;
      }
    }
    return n;
  };
  for (const Degrees d : {Degrees{}, Degrees{.tp = 2}}) {
    const Plan before = plan_of(apart, d), after = plan_of(fused, d);
    const std::vector<PlanFault> faults = validate(after);
    EXPECT_TRUE(faults.empty()) << faults.front().text;
    EXPECT_EQ(of_layers(before, Cast{}), 4 + 1);
    EXPECT_EQ(of_layers(after, Cast{}), 0);
    EXPECT_EQ(of_layers(before, Add{}), 2);
    EXPECT_EQ(of_layers(after, Add{}), 0);
    EXPECT_EQ(sum_over(after, 0, product_flops), sum_over(before, 0, product_flops));
    EXPECT_EQ(traffic(after, CollectiveKind::kAllReduce, Axis::kTp),
              traffic(before, CollectiveKind::kAllReduce, Axis::kTp));
  }
}

TEST(ServingPlan, OtherAxesAreRefused) {
  EXPECT_THROW(make_serving_plan(tiny_llama(), decode_step(1, 1), {}, layout(2, {.cp = 2}), 1),
               InputError);
}

}  // namespace plait::serving_test
