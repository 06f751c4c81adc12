#include "model/iteration_flops.h"

#include <gtest/gtest.h>

#include <vector>

#include "model/op.h"
#include "model/presets.h"

namespace plait::iteration_flops_test {

constexpr double kRelative = 1e-12;  // sums of a few doubles

/// The three products of y = x W^T for `tokens` rows: forward, gradient of x, gradient of W.
struct Linear {
  MatMul forward, input_grad, weight_grad;
};
Linear linear(std::int64_t tokens, std::int64_t in, std::int64_t out) {
  Linear ops;
  ops.forward = {.m = tokens, .n = out, .k = in};
  ops.input_grad = {.pass = Pass::kInputGrad, .m = tokens, .n = in, .k = out};
  ops.weight_grad = {.pass = Pass::kWeightGrad, .m = out, .n = in, .k = tokens};
  return ops;
}

struct LayerFlops {
  Flops forward, backward;
};

void add_linear(LayerFlops& sum, const Linear& ops) {
  sum.forward += flops(ops.forward);
  sum.backward += flops(ops.input_grad) + flops(ops.weight_grad);
}

/// One layer, op by op, on one device.
LayerFlops layer_flops(const Model& m, std::int64_t seq, std::int64_t batch, bool causal) {
  const std::int64_t tokens = seq * batch;
  LayerFlops sum;
  add_linear(sum, linear(tokens, m.hidden, m.qkv_width()));
  add_linear(sum, linear(tokens, m.query_width(), m.hidden));
  add_linear(sum, linear(tokens, m.hidden, m.mlp_input_width()));
  add_linear(sum, linear(tokens, m.ffn_hidden, m.hidden));
  Attention attention{.batch = batch,
                      .heads = m.heads,
                      .kv_heads = m.kv_heads,
                      .seq_q = seq,
                      .seq_kv = seq,
                      .head_dim = m.head_dim,
                      .causal = causal};
  sum.forward += flops(attention);
  attention.pass = Pass::kBackward;
  sum.backward += flops(attention);
  return sum;
}

LayerFlops logit_flops(const Model& m, std::int64_t tokens) {
  LayerFlops sum;
  add_linear(sum, linear(tokens, m.hidden, m.vocab));
  if (m.masked_lm_head) add_linear(sum, linear(tokens, m.hidden, m.hidden));
  return sum;
}

// Narayanan et al. 2021, equation (3): F = 96 B s l h^2 (1 + s / 6h + V / 16 l h).
double sc21_with_recompute(const Model& m, double s, double b) {
  const double l = static_cast<double>(m.layers), h = static_cast<double>(m.hidden);
  const double v = static_cast<double>(m.vocab);
  return 96 * b * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
}

// The same without recomputation: layers run three times instead of four.
double sc21_without_recompute(const Model& m, double s, double b) {
  const double l = static_cast<double>(m.layers), h = static_cast<double>(m.hidden);
  const double v = static_cast<double>(m.vocab);
  return 72 * b * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
}

std::vector<Model> gpt_shapes() {
  return {*find_preset("tiny-gpt"), *find_preset("gpt2"), *find_preset("gpt3-175b"),
          *find_preset("megatron-1t")};
}

TEST(MegatronFlops, AreEquation3ForGptShapesWithFullRecomputation) {
  for (const Model& m : gpt_shapes()) {
    const double expected = sc21_with_recompute(m, 2048, 512);
    const double actual = megatron_flops_per_iteration(m, 2048, 512, true).value;
    EXPECT_NEAR(actual / expected, 1, kRelative) << m.name;
  }
}

TEST(MegatronFlops, AreTheVariantOfEquation3WithoutRecomputation) {
  for (const Model& m : gpt_shapes()) {
    const double expected = sc21_without_recompute(m, 1024, 3);
    EXPECT_NEAR(megatron_flops_per_iteration(m, 1024, 3).value / expected, 1, kRelative) << m.name;
  }
}

TEST(MegatronFlops, OfOneLayerAre24ForwardAnd96WithRecomputation) {
  const Model m = *find_preset("tiny-gpt");
  const double s = 32, b = 2, h = static_cast<double>(m.hidden);
  const LayerFlops layer = layer_flops(m, 32, 2, /*causal=*/false);
  // Per layer: 24 B s h^2 + 4 B s^2 h forward (SC21 appendix), twice that backward.
  EXPECT_DOUBLE_EQ(layer.forward.value, 24 * b * s * h * h + 4 * b * s * s * h);
  EXPECT_DOUBLE_EQ(layer.backward.value, 2 * layer.forward.value);
  EXPECT_DOUBLE_EQ(2 * layer.forward.value + layer.backward.value,
                   96 * b * s * h * h * (1 + s / (6 * h)));
}

TEST(MegatronFlops, AreTheSumOverTheOpsOfAnIteration) {
  for (const Preset& preset : presets()) {
    const Model& m = preset.model;
    // tests/plan/strategies/expert_test.cpp, state_space_test.cpp
    if (m.experts > 0 || !m.layer_pattern.empty()) continue;
    const std::int64_t seq = 256, batch = 4;
    const LayerFlops layer = layer_flops(m, seq, batch, /*causal=*/false);
    const LayerFlops logits = logit_flops(m, seq * batch);
    const double sum = static_cast<double>(m.layers) * (layer.forward + layer.backward).value +
                       (logits.forward + logits.backward).value;
    EXPECT_NEAR(megatron_flops_per_iteration(m, seq, batch).value / sum, 1, kRelative) << m.name;
  }
}

TEST(NeededFlops, AreTheSumOverTheOpsOfAnIteration) {
  for (const Preset& preset : presets()) {
    const Model& m = preset.model;
    // tests/plan/strategies/expert_test.cpp, state_space_test.cpp
    if (m.experts > 0 || !m.layer_pattern.empty()) continue;
    const std::int64_t seq = 256, batch = 4;
    const LayerFlops layer = layer_flops(m, seq, batch, m.causal);
    const LayerFlops logits = logit_flops(m, seq * batch);
    const double sum = static_cast<double>(m.layers) * (layer.forward + layer.backward).value +
                       (logits.forward + logits.backward).value;
    EXPECT_NEAR(needed_flops_per_iteration(m, seq, batch).value / sum, 1, kRelative) << m.name;
  }
}

TEST(NeededFlops, OfAnEncoderHaveTheWholeSquare) {
  const Model m = *find_preset("bert-large");
  EXPECT_EQ(needed_flops_per_iteration(m, 512, 2), megatron_flops_per_iteration(m, 512, 2));
}

TEST(NeededFlops, LackHalfOfTheAttentionSquare) {
  const Model m = *find_preset("llama-3.1-8b");
  const double s = 8192, layers = 32, width = 4096;
  // Forward and backward of QK^T and PV over half the square: 3 * 4 * s^2 q / 2 per layer.
  const double half = 3 * 2 * s * s * width * layers;
  const Flops whole = megatron_flops_per_iteration(m, 8192, 1);
  EXPECT_NEAR((whole - needed_flops_per_iteration(m, 8192, 1)).value / half, 1, 1e-9);
}

/// Twice and once the pairs of s queries that see w keys, but the first ones as many as there are.
TEST(WindowFlops, CountWhatIsSeenInTheLayersThatHaveAWindow) {
  Model m = *find_preset("llama-3.1-8b");
  const double s = 8192, w = 1024, width = 4096;
  const Flops whole = megatron_flops_per_iteration(m, 8192, 2);
  const Flops needed = needed_flops_per_iteration(m, 8192, 2);
  const double saved = s * s / 2 - (w * s - w * w / 2);  // pairs, of one layer and sequence
  m.attention_window = 1024;
  for (const std::int64_t every : {0, 4, 2, 1}) {
    m.full_attention_every = every;
    const double layers = every == 0 ? 32 : 32 - 32 / static_cast<double>(every);
    const double fewer = 2 * layers * 3 * 2 * 2 * width * saved;  // 3 passes, 2 products
    EXPECT_EQ(m.windowed_layers(), layers);
    EXPECT_NEAR((needed - needed_flops_per_iteration(m, 8192, 2)).value, fewer,
                1e-9 * needed.value);
    EXPECT_NEAR((whole - megatron_flops_per_iteration(m, 8192, 2)).value, 2 * fewer,
                1e-9 * whole.value);
  }
  m.full_attention_every = 0, m.full_attention_first = 30;
  EXPECT_EQ(m.windowed_layers(), 2);
  m.attention_window = 8192, m.full_attention_first = 0;
  EXPECT_EQ(megatron_flops_per_iteration(m, 8192, 2), whole);
}

TEST(MegatronFlops, RecomputationAddsOneForwardOfTheLayersOnly) {
  const Model m = *find_preset("tiny");
  const Flops extra =
      megatron_flops_per_iteration(m, 64, 2, true) - megatron_flops_per_iteration(m, 64, 2, false);
  const double layers = static_cast<double>(m.layers);
  EXPECT_DOUBLE_EQ(extra.value, layers * layer_flops(m, 64, 2, false).forward.value);
}

}  // namespace plait::iteration_flops_test
