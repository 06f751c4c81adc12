// Gated delta nets and gates: parts, parameters, FLOPs, bytes.
#include <gtest/gtest.h>

#include "model/iteration_flops.h"
#include "model/op.h"
#include "model/presets.h"
#include "tests/model/small_hybrid.h"

namespace plait::delta_net_test {

TEST(DeltaNetPattern, HasNetsAloneAndWithAnMlpOrExperts) {
  Model m = small_hybrid("Gga");
  m.experts = 4, m.first_dense_layers = 2;
  EXPECT_EQ(m.parts_of(0), (LayerParts{Mixer::kDeltaNet, FeedForward::kNone}));
  EXPECT_EQ(m.parts_of(1), (LayerParts{Mixer::kDeltaNet, FeedForward::kMlp}));
  EXPECT_EQ(m.parts_of(2), (LayerParts{Mixer::kAttention, FeedForward::kExperts}));
  EXPECT_EQ(m.delta_net_layers(), 2);
  EXPECT_EQ(m.recurrent_layers(), 2);
  EXPECT_EQ(m.state_space_layers(), 0);
}

// Tensor by tensor as transformers' Qwen3NextGatedDeltaNet has them: in_proj_qkvz, in_proj_ba,
// conv1d, dt_bias, A_log, norm, out_proj; and the norm before.
TEST(DeltaNetParameters, SumTheTensorsOfTheMixer) {
  const std::int64_t h = 16, keys = 2 * 5, values = 6 * 3;
  EXPECT_EQ(count_parameters(small_hybrid("G")).delta_net, h + h * (2 * keys + 2 * values) +
                                                               h * 2 * 6 + (2 * keys + values) * 4 +
                                                               6 + 6 + 3 + values * h);
}

TEST(GateParameters, AreAMatrixOfAttentionAndAVectorOfSharedExperts) {
  Model without = small_hybrid("a");
  without.experts = 4, without.experts_per_token = 2, without.expert_ffn_hidden = 8;
  without.shared_ffn_hidden = 8;
  Model with = without;
  with.attention_gate = true;
  EXPECT_EQ(count_parameters(with).layer - count_parameters(without).layer, 16 * 16);
  with.shared_expert_gate = true;
  EXPECT_EQ(count_parameters(with).moe_layer - count_parameters(without).moe_layer, 16 * 16 + 16);
}

// The card of Qwen/Qwen3-Next-80B-A3B-Instruct: 80B parameters in total, 79B without embeddings, 3B
// activated. Of a token: without the two tables of 0.31B each, which are looked up or are the head.
TEST(DeltaNetParameters, OfQwen3NextAreThePublished) {
  const Model& m = *find_preset("qwen3-next-80b-a3b");
  const ParameterCount n = count_parameters(m);
  const auto tables = static_cast<double>(2 * m.vocab * m.hidden);
  EXPECT_NEAR(static_cast<double>(n.total(m)) - tables, 79e9, 0.5e9);
  EXPECT_NEAR(static_cast<double>(n.active(m)) - tables, 3e9, 0.5e9);
}

// A token and head in chunks of C, half of the products under a mask: k k^T, C K; its inverse, C^2
// / 3; w and u, C (K + V); v' and h, 4 K V; y, 2 K V + C (K + V).
TEST(DeltaRuleFlops, AreTheProductsOfTheChunkedForm) {
  DeltaRule op{
      .batch = 2, .seq = 12, .heads = 6, .value_dim = 3, .groups = 2, .key_dim = 5, .chunk = 4};
  const double TH = 24 * 6, C = 4, K = 5, V = 3;
  const double forward = TH * (C * (3 * K + 2 * V) + C * C / 3 + 6 * K * V);
  EXPECT_NEAR(flops(op).value, forward, 1e-9);
  EXPECT_EQ(hardware_flops(op).value, flops(op).value);
  op.pass = Pass::kBackward;
  EXPECT_NEAR(flops(op).value, 2 * forward, 1e-9);
  EXPECT_NEAR(hardware_flops(op).value, 2 * forward + TH * (C * (4 * K + V) + 4 * K * V), 1e-9)
      << "w, u, v' and h again, q k^T twice, k k^T once";
}

TEST(DeltaRuleFlops, OfALastShortChunkAreItsOwn) {
  DeltaRule op{
      .batch = 1, .seq = 7, .heads = 1, .value_dim = 1, .groups = 1, .key_dim = 1, .chunk = 4};
  EXPECT_NEAR(flops(op).value, (4 * 4 + 3 * 3) * 5 + (64 + 27) / 3.0 + 6 * 7, 1e-9);
}

/// tp splits value heads with their key heads: nothing is done twice.
TEST(DeltaRuleProperty, SplittingHeadsConservesFlopsAndBytes) {
  const DeltaRule whole{
      .batch = 1, .seq = 8, .heads = 8, .value_dim = 4, .groups = 4, .key_dim = 16, .chunk = 4};
  DeltaRule share = whole;
  share.heads /= 4, share.groups /= 4;
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    DeltaRule all = whole, one = share;
    all.pass = one.pass = pass;
    EXPECT_NEAR(4 * flops(one).value, flops(all).value, 1e-9);
    EXPECT_EQ(4 * memory_traffic(one).value, memory_traffic(all).value);
  }
}

// Kernel by kernel: g and beta; q, k and v of each head; sums of g; k k^T; its inverse; w and u; v'
// and states; y.
TEST(TrafficOfDeltaRule, IsThatOfItsKernels) {
  const DeltaRule op{
      .batch = 1, .seq = 4, .heads = 2, .value_dim = 3, .groups = 1, .key_dim = 5, .chunk = 2};
  const std::int64_t e = 2, steps = 4 * 2, g = steps * 4, rows = 4 * (2 * 5 + 2 * 3);
  const std::int64_t w = steps * 5, x = steps * 3, A = steps * 2, states = 2 * 2 * 3 * 5;
  EXPECT_EQ(memory_traffic(op).value, (2 * steps * e + 2 * g) + ((rows + 2 * w + x) * e + 2 * g) +
                                          2 * g + (w * e + 2 * g + A * 4) + A * (4 + e) +
                                          ((2 * w + 2 * x + A) * e + 2 * g) +
                                          2 * ((2 * w + 2 * x + states) * e + g));
}

TEST(TrafficOfGates, IsEveryOperandOnce) {
  Gate gate{.rows = 6, .width = 8};
  EXPECT_EQ(memory_traffic(gate).value, 3 * 48 * 2);
  gate.per_row = true;
  EXPECT_EQ(memory_traffic(gate).value, (2 * 48 + 6) * 2);
  gate.pass = Pass::kBackward;
  EXPECT_EQ(memory_traffic(gate).value, (3 * 48 + 2 * 6) * 2);
  GatedNorm norm{.rows = 6, .width = 8, .groups = 2, .gate_last = true};
  EXPECT_EQ(memory_traffic(norm).value, 3 * 48 * 2 + 6 * 2 * 4 + 4 * 2) << "a gamma for all heads";
  norm.pass = Pass::kBackward;
  EXPECT_EQ(memory_traffic(norm).value, 5 * 48 * 2 + 6 * 2 * 4 + 2 * 4 * 2);
}

// Megatron-LM, megatron/training/training.py, num_floating_point_operations, gated_delta_net: both
// projections, the convolution, and four products of P x P for each token and value head.
TEST(IterationFlops, OfDeltaNetsAreMegatrons) {
  Model m = small_hybrid("G");
  m.state_size = m.state_head_dim = 3;  // the function knows one
  const double T = 2 * 6, h = 16, keys = 2 * 3, values = 6 * 3;
  const double layer =
      h * (2 * keys + 2 * values + 2 * 6) + 4 * (2 * keys + values) + 6 * (3 * 3) * 4 + h * values;
  EXPECT_NEAR(megatron_flops_per_iteration(m, 6, 2).value, 3 * 2 * T * (layer + h * 32), 1e-6);
}

}  // namespace plait::delta_net_test
