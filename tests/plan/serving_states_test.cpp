// Mixers with states in serving steps: what a cache keeps of each sequence, and what a step moves.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/presets.h"
#include "plan/memory.h"
#include "plan/serving.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::serving_states_test {

/// 4 heads of 6 values and 5 columns in 2 groups, convolutions over 4 tokens, chunks of 4.
Model tiny_hybrid(const std::string& pattern) {
  Model m = tiny_llama(static_cast<std::int64_t>(pattern.size()));
  m.layer_pattern = pattern;
  m.state_heads = 4, m.state_head_dim = 6, m.state_size = 5, m.state_groups = 2;
  m.conv_width = 4, m.scan_chunk = 4;
  return m;
}

Plan plan_of(const Model& m, const Step& step, Degrees d = {}, CacheRoom room = {},
             const ServingPrecision& p = {}) {
  return make_serving_plan(m, step, p, {split(d).mesh, even_layers(m.layers, d.pp)}, room);
}

/// Bodies of a kind that stage 0 computes, in order.
template <class Body>
std::vector<Body> bodies(const Plan& plan) {
  std::vector<Body> out;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const auto* c = std::get_if<Compute>(&op.body);
    if (c != nullptr && std::holds_alternative<Body>(*c)) out.push_back(std::get<Body>(*c));
  });
  return out;
}

const Step kDecode = {{}, {3, 1, 40}, 3};
const Step kMixed = {{2, 8, 12}, {3, 1, 40}, 5};

TEST(ServingStates, PlansAreSoundForEveryLayout) {
  for (const char* pattern : {"M*-M", "mama", "G-*G", "ggga"}) {
    for (const Degrees d :
         {Degrees{}, Degrees{.tp = 2}, Degrees{.pp = 2}, Degrees{.pp = 2, .dp = 2, .tp = 2}}) {
      for (const Step& step : {kDecode, kMixed, Step{{2, 8, 12}, {}, 2}}) {
        const std::vector<PlanFault> faults = validate(plan_of(tiny_hybrid(pattern), step, d));
        EXPECT_TRUE(faults.empty()) << pattern << ": " << faults.front().text;
      }
    }
  }
}

/// As Qwen3-Next: experts behind attention and behind delta nets.
Model tiny_next(const std::string& pattern) {
  Model m = tiny_hybrid(pattern);
  m.experts = 4, m.experts_per_token = 2, m.expert_ffn_hidden = 8, m.shared_ffn_hidden = 8;
  m.shared_expert_gate = m.attention_gate = m.qk_norm = true;
  return m;
}
Plan sharing_plan(const Model& m, const Step& step, Degrees d, ExpertSharing how) {
  ServingLayout layout{split(d).mesh, even_layers(m.layers, d.pp)};
  layout.experts = how;
  return make_serving_plan(m, step, {}, layout, 1);
}

TEST(ServingStates, PlansWithExpertsAreSound) {
  const Model m = tiny_next("ggga");
  for (const Degrees d :
       {Degrees{}, Degrees{.tp = 2}, Degrees{.pp = 2}, Degrees{.dp = 2, .tp = 2}}) {
    for (const ExpertSharing how :
         {ExpertSharing::kNone, ExpertSharing::kDealt, ExpertSharing::kDivided}) {
      const std::vector<PlanFault> faults = validate(sharing_plan(m, kMixed, d, how));
      EXPECT_TRUE(faults.empty()) << faults.front().text;
    }
  }
}

// A token alone meets the 2 of 4 experts that it chooses in each layer, two products in each.
TEST(ServingStates, FewTokensReadFewExpertsBehindEachMixer) {
  for (const char* pattern : {"gaga", "ggga", "aaag"}) {
    std::int64_t products = 0;
    for (const MatMul& g : bodies<MatMul>(plan_of(tiny_next(pattern), {{}, {1, 1, 40}, 1}))) {
      if (g.batch == 1) continue;
      EXPECT_EQ(g.batch, 2) << pattern;
      ++products;
    }
    EXPECT_EQ(products, 8) << pattern;
  }
}

// 18 bytes of 32 weights, once: the layers' experts are one, whatever mixer is before them.
TEST(ServingStates, ExpertsBehindSeveralMixersArePackedOnce) {
  Model m = tiny_next("ggga");
  m.expert_ffn_hidden = 32, m.hidden = 64;
  const auto of_experts = [&](WeightFormat format) {
    ServingPrecision p;
    p.experts = format;
    const Plan plan = plan_of(m, kDecode, {}, {}, p);
    for (const MatMul& g : bodies<MatMul>(plan)) {
      if (g.batch > 1) {
        EXPECT_EQ(g.weights, format);
      }
    }
    return live_memory(plan, 0).by_class[static_cast<std::size_t>(TensorClass::kWeight)].value;
  };
  const std::int64_t experts = 4 * 4 * 3 * m.hidden * m.expert_ffn_hidden;
  EXPECT_EQ(of_experts(WeightFormat::kPlain) - of_experts(WeightFormat::kQ4_0),
            experts * 2 - experts * 18 / 32);
}

// Tokens and logits to all replicas, and results back: in each layer, whatever its mixer.
TEST(ServingStates, ReplicasExchangeTheTokensOfEachLayerWithExperts) {
  for (const ExpertSharing how : {ExpertSharing::kDealt, ExpertSharing::kDivided}) {
    std::int64_t gathers = 0, scatters = 0;
    for_each_op(sharing_plan(tiny_next("ggga"), kDecode, {.dp = 2}, how), 0,
                [&](const Call&, const Op& op) {
                  const auto* c = std::get_if<Collective>(&op.body);
                  if (c == nullptr || !(c->axes == AxisSet(Axis::kDp))) return;
                  gathers += c->kind == CollectiveKind::kAllGather;
                  scatters += c->kind == CollectiveKind::kReduceScatter;
                });
    EXPECT_EQ(gathers, 2 * 4);
    EXPECT_EQ(scatters, 4);
  }
}

// vLLM's mamba2_state_shape: (K - 1, (d + 2 G N) / tp) and (H / tp, P, N). Nemotron-H-8B: 128 heads
// of 64 x 128 in 8 groups. gated_delta_net_state_shape: (K - 1, (2 G K + H V) / tp) and
// (H / tp, V, K). Qwen3-Next: 16 key heads and 32 value heads of 128.
TEST(ServingStates, OfASequenceAreTheConvolutionsTokensAndTheHeadsStates) {
  ServingPrecision wide;
  wide.states = DType::kFp32;
  const Model nemotron = *find_preset("nemotron-h-8b");
  EXPECT_EQ(state_bytes_per_sequence(nemotron, {}, 1).value,
            3 * (128 * 64 + 2 * 8 * 128) * 2 + 128 * 64 * 128 * 2);
  EXPECT_EQ(state_bytes_per_sequence(nemotron, wide, 4).value,
            (3 * (128 * 64 + 2 * 8 * 128) * 2 + 128 * 64 * 128 * 4) / 4);
  const Model next = *find_preset("qwen3-next-80b-a3b");
  EXPECT_EQ(state_bytes_per_sequence(next, {}, 2).value,
            (3 * (2 * 16 * 128 + 32 * 128) * 2 + 32 * 128 * 128 * 2) / 2);
  EXPECT_EQ(state_bytes_per_sequence(tiny_llama(), {}, 1).value, 0);
}

// Keys and values in layers with attention alone, states in those with mixers.
TEST(ServingStates, AreKeptInTheirLayersAndKeysInOthers) {
  const Model m = tiny_hybrid("M*-mMa");
  for (const std::int64_t tp : {1, 2}) {
    const Plan plan = plan_of(m, kDecode, {.tp = tp}, {100, 7});
    const Bytes cache =
        live_memory(plan, 0).by_class[static_cast<std::size_t>(TensorClass::kKvCache)];
    EXPECT_EQ(cache.value, 100 * 2 * kv_bytes_per_token(m, {}, tp).value +
                               7 * 3 * state_bytes_per_sequence(m, {}, tp).value);
  }
}

// A token of each sequence reads its state and writes it: 2 H P N numbers, beside x, B, C, dt and
// y.
TEST(ServingStates, ATokenReadsAndWritesTheStatesOfItsSequence) {
  ServingPrecision wide;
  wide.states = DType::kFp32;
  const std::vector<Scan> scans = bodies<Scan>(plan_of(tiny_hybrid("M*"), kDecode, {}, {}, wide));
  ASSERT_EQ(scans.size(), 1U);
  const std::int64_t states = 4 * 6 * 5, token = 2 * 4 * 6 + 2 * 2 * 5 + 4;
  EXPECT_EQ(memory_traffic(scans[0]).value, 3 * (2 * states * 4 + token * 2));
  EXPECT_EQ(flops(scans[0]).value, 3 * 2 * 2 * states);  // dt x B^T and h C

  const std::vector<DeltaRule> rules =
      bodies<DeltaRule>(plan_of(tiny_hybrid("G*"), kDecode, {}, {}, wide));
  ASSERT_EQ(rules.size(), 1U);
  const std::int64_t gates = 2 * 4 * 2 + 2 * 4 * 4;  // beta and alpha to g and b
  const std::int64_t row = (2 * 2 * 5 + 4 * 6) + 4 * 6;
  EXPECT_EQ(memory_traffic(rules[0]).value, 3 * (2 * states * 4 + row * 2 + gates + 2 * 4 * 4));
  EXPECT_EQ(flops(rules[0]).value, 3 * 3 * 2 * states);  // S k, its change, S q
}

TEST(ServingStates, OfAStepAreWhateverTheContext) {
  for (const char* pattern : {"M*", "G*"}) {
    const Model m = tiny_hybrid(pattern);
    const Plan near = plan_of(m, kDecode), far = plan_of(m, {{}, {3, 1, 4000}, 3});
    const auto traffic = [](const Plan& plan) {
      std::int64_t out = 0;
      for (const Scan& op : bodies<Scan>(plan)) out += memory_traffic(op).value;
      for (const DeltaRule& op : bodies<DeltaRule>(plan)) out += memory_traffic(op).value;
      return out;
    };
    EXPECT_EQ(traffic(near), traffic(far));
    EXPECT_GT(traffic(near), 0);
  }
}

// A prompt in two chunks multiplies what it does in one, and carries its states over once more.
TEST(ServingStates, PromptsInChunksCarryThemOver) {
  const Model m = tiny_hybrid("M*");
  const Scan whole = bodies<Scan>(plan_of(m, {{1, 16, 16}, {}, 1}))[0];
  const Scan half = bodies<Scan>(plan_of(m, {{1, 8, 16}, {}, 1}))[0];
  const std::int64_t states = 4 * 6 * 5;
  EXPECT_EQ(2 * flops(half).value, flops(whole).value);
  EXPECT_EQ(2 * memory_traffic(half).value, memory_traffic(whole).value + 2 * states * 2);
  const CausalConv all = bodies<CausalConv>(plan_of(m, {{1, 16, 16}, {}, 1}))[0];
  const CausalConv part = bodies<CausalConv>(plan_of(m, {{1, 8, 16}, {}, 1}))[0];
  const std::int64_t taps = all.channels * 5 * 2, kept = 3 * all.channels * 2;
  EXPECT_EQ(2 * memory_traffic(part).value, memory_traffic(all).value + taps + 2 * kept);
}

TEST(ServingStates, PromptsAndTokensRunApart) {
  const std::vector<Scan> scans = bodies<Scan>(plan_of(tiny_hybrid("M*"), kMixed));
  ASSERT_EQ(scans.size(), 2U);
  EXPECT_EQ(scans[0].batch * scans[0].seq, 16);
  EXPECT_FALSE(scans[0].updates());
  EXPECT_EQ(scans[1].batch, 3);
  EXPECT_TRUE(scans[1].updates());
}

TEST(ServingStates, HeadsAreDividedByTensorParallelism) {
  const Scan one = bodies<Scan>(plan_of(tiny_hybrid("M*"), kDecode))[0];
  const Scan half = bodies<Scan>(plan_of(tiny_hybrid("M*"), kDecode, {.tp = 2}))[0];
  EXPECT_EQ(2 * half.heads, one.heads);
  EXPECT_EQ(2 * memory_traffic(half).value, memory_traffic(one).value);
}

TEST(ServingStates, StayOnDevices) {
  const Model m = tiny_hybrid("M*");
  ServingLayout layout = {split({}).mesh, even_layers(2, 1)};
  layout.map.layers[0].residence = Residence::kProcessor;
  try {
    make_serving_plan(m, kDecode, {}, layout, 1);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "S158");
  }
}

}  // namespace plait::serving_states_test
