// State-space mixers and patterns of layers: parts, parameters, FLOPs, bytes.
#include <gtest/gtest.h>

#include "model/iteration_flops.h"
#include "model/op.h"
#include "model/presets.h"
#include "tests/model/small_hybrid.h"

namespace plait::state_space_test {

TEST(LayerPattern, SaysWhatEachLayerHas) {
  Model m = small_hybrid("M*-Ema");
  m.experts = 4, m.first_dense_layers = 5;
  const LayerParts want[] = {
      {Mixer::kStateSpace, FeedForward::kNone}, {Mixer::kAttention, FeedForward::kNone},
      {Mixer::kNone, FeedForward::kMlp},        {Mixer::kNone, FeedForward::kExperts},
      {Mixer::kStateSpace, FeedForward::kMlp},  {Mixer::kAttention, FeedForward::kExperts}};
  for (std::int64_t l = 0; l < 6; ++l) EXPECT_EQ(m.parts_of(l), want[l]) << l;
  EXPECT_EQ(m.attention_layers(), 2);
  EXPECT_EQ(m.state_space_layers(), 2);
  EXPECT_EQ(m.dense_layers(), 2);
  EXPECT_EQ(m.moe_layers(), 2);
}

TEST(LayerPattern, OfAttentionWithAnMlpIsNone) {
  const Model pattern = small_hybrid("aaa");
  Model none = pattern;
  none.layer_pattern.clear();
  EXPECT_EQ(count_parameters(pattern).total(pattern), count_parameters(none).total(none));
  EXPECT_EQ(needed_flops_per_iteration(pattern, 8, 2), needed_flops_per_iteration(none, 8, 2));
}

// Tensor by tensor as mamba_ssm's Mamba2 has them: in_proj, conv1d, dt_bias, A_log, D, norm,
// out_proj; and the norm before.
TEST(StateSpaceParameters, SumTheTensorsOfTheMixer) {
  const std::int64_t h = 16, d = 6 * 3, bc = 2 * 2 * 5, conv = d + bc;
  EXPECT_EQ(count_parameters(small_hybrid("M")).state_space,
            h + h * (2 * d + bc + 6) + conv * 4 + conv + 6 + 6 + 6 + d + d * h);
}

// Of a token: each layer has one part; half of the embedding is the output matrix.
TEST(StateSpaceParameters, OfNemotron3AreThePublishedActiveOnes) {
  const Model& m = *find_preset("nemotron-3-nano-30b");
  EXPECT_NEAR(static_cast<double>(count_parameters(m).active(m)), 3.6e9, 0.05e9);
}

// Dao and Gu 2024, section 6, in chunks of Q of T tokens, half of the products under a mask:
// C B^T: T Q G N; times x: T Q H P; states in and out: 4 T H P N.
TEST(ScanFlops, AreTheProductsOfTheChunkedForm) {
  Scan op{.batch = 2, .seq = 12, .heads = 6, .head_dim = 3, .groups = 2, .state = 5, .chunk = 4};
  const double T = 24, Q = 4, HP = 18, GN = 10, N = 5;
  const double forward = T * Q * (GN + HP) + 4 * T * HP * N;
  EXPECT_EQ(flops(op).value, forward);
  EXPECT_EQ(hardware_flops(op).value, forward);
  op.pass = Pass::kBackward;
  EXPECT_EQ(flops(op).value, 2 * forward);
  EXPECT_EQ(hardware_flops(op).value, 2 * forward + T * Q * (GN + HP) + 2 * T * HP * N)
      << "scores, states and the gradient of the decays' sums once more";
}

TEST(ScanFlops, OfALastShortChunkAreItsOwn) {
  Scan op{.batch = 1, .seq = 7, .heads = 1, .head_dim = 1, .groups = 1, .state = 1, .chunk = 4};
  EXPECT_EQ(flops(op).value, (4 * 4 + 3 * 3) * 2 + 4 * 7);
}

/// tp splits heads with their groups: nothing is done twice.
TEST(ScanProperty, SplittingGroupsConservesFlopsAndBytes) {
  const Scan whole{
      .batch = 1, .seq = 8, .heads = 8, .head_dim = 4, .groups = 4, .state = 16, .chunk = 4};
  Scan share = whole;
  share.heads /= 4, share.groups /= 4;
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    Scan all = whole, one = share;
    all.pass = one.pass = pass;
    EXPECT_EQ(4 * flops(one), flops(all));
    EXPECT_EQ(4 * memory_traffic(one).value, memory_traffic(all).value);
  }
}

// What is read and written at least: x, B, C, dt; y. Every kernel more reads or writes states and
// scores.
TEST(TrafficOfScan, IsThatOfItsKernels) {
  const Scan op{
      .batch = 1, .seq = 4, .heads = 2, .head_dim = 3, .groups = 1, .state = 5, .chunk = 2};
  const std::int64_t x = 4 * 6, b = 4 * 5, steps = 4 * 2, states = 2 * 6 * 5, scores = 4 * 2;
  const std::int64_t e = 2, wide = 4, pair = 2 * steps * wide;
  EXPECT_EQ(memory_traffic(op).value, (steps * e + pair) + ((x + b) * e + pair + states * wide) +
                                          (states * (wide + e)) + (2 * b * e + scores * wide) +
                                          (scores * wide + (2 * x + b + states) * e + pair));
}

TEST(TrafficOfConvAndGatedNorm, IsEveryOperandOnce) {
  CausalConv conv{.rows = 6, .channels = 5, .width = 4};
  EXPECT_EQ(memory_traffic(conv).value, (2 * 30 + 5 * 5) * 2);
  conv.pass = Pass::kBackward;
  EXPECT_EQ(memory_traffic(conv).value, (3 * 30 + 2 * 25) * 2);
  GatedNorm norm{.rows = 6, .width = 8, .groups = 2};
  EXPECT_EQ(memory_traffic(norm).value, 3 * 48 * 2 + 6 * 2 * 4 + 8 * 2);
  norm.pass = Pass::kBackward;
  EXPECT_EQ(memory_traffic(norm).value, 6 * 48 * 2 + 6 * 2 * 4 + 2 * 8 * 2);
}

// Megatron-LM, megatron/training/training.py, mamba_layer_flops: products, and 7 FLOPs of the scan
// for each token and element of the state.
TEST(IterationFlops, OfStateSpaceLayersAreMegatrons) {
  const Model m = small_hybrid("M");
  const double T = 2 * 6, h = 16, d = 18, N = 5, G = 2, H = 6;
  const double layer = 2 * T * h * (2 * d + 2 * G * N + H) + 7 * T * d * N + 2 * T * d * h;
  EXPECT_NEAR(megatron_flops_per_iteration(m, 6, 2).value, 3 * (layer + 2 * T * h * 32), 1e-6);
}

}  // namespace plait::state_space_test
