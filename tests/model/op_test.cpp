#include "model/op.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace plait::op_test {

Attention square_attention() {
  return {.batch = 2, .heads = 6, .kv_heads = 3, .seq_q = 16, .seq_kv = 16, .head_dim = 8};
}

std::vector<Compute> each_kernel() {
  return {
      MatMul{.m = 2, .n = 2, .k = 2},
      square_attention(),
      Norm{.rows = 2, .width = 2},
      HeadNorm{.rows = 2, .heads = 2, .kv_heads = 1, .head_dim = 2, .key_dim = 2, .value_width = 2},
      Activation{.rows = 2, .width = 2},
      Gate{.rows = 2, .width = 2},
      Rope{.rows = 2, .width = 2},
      LatentHeads{.rows = 2, .heads = 2, .head_dim = 4, .value_dim = 2, .rope_dim = 2},
      CausalConv{.rows = 2, .channels = 2, .width = 2},
      Scan{.batch = 1, .seq = 2, .heads = 2, .head_dim = 2, .groups = 1, .state = 2, .chunk = 2},
      DeltaRule{
          .batch = 1, .seq = 2, .heads = 2, .value_dim = 2, .groups = 1, .key_dim = 2, .chunk = 2},
      GatedNorm{.rows = 2, .width = 2},
      Embedding{.rows = 2, .width = 2, .vocab = 2},
      CrossEntropy{.rows = 2, .vocab = 2},
      Route{.tokens = 2, .groups = 1, .experts = 2, .chosen = 1, .capacity = 1},
      Dispatch{.rows = 2, .width = 2, .chosen = 1, .slots = 2},
      Combine{.rows = 2, .width = 2, .chosen = 1, .slots = 2},
      Add{.rows = 2, .width = 2},
      BiasGrad{.rows = 2, .width = 2},
      Cast{.elements = 2},
      Fill{.elements = 2},
      SquaredNorm{.elements = 2},
      Amax{.elements = 2},
      Adam{.elements = 2}};
}

TEST(MatMul, CountsAMultiplyAddAsTwo) {
  EXPECT_EQ(flops(MatMul{.batch = 2, .m = 3, .n = 5, .k = 7}), Flops(2.0 * 2 * 3 * 5 * 7));
}

TEST(MatMul, BackwardIsTwiceForward) {
  const MatMul forward{.m = 48, .n = 32, .k = 16};
  const MatMul dgrad{.pass = Pass::kInputGrad, .m = 48, .n = 16, .k = 32};
  const MatMul wgrad{.pass = Pass::kWeightGrad, .m = 32, .n = 16, .k = 48};
  EXPECT_EQ(flops(dgrad) + flops(wgrad), 2 * flops(forward));
}

RC_GTEST_PROP(MatMulProperty, SplittingOutputsOrTheInnerSizeConservesFlops, ()) {
  const auto ranks = *rc::gen::inRange<std::int64_t>(1, 17);
  const auto m = *rc::gen::inRange<std::int64_t>(1, 4097);
  const auto n = ranks * *rc::gen::inRange<std::int64_t>(1, 1025);
  const auto k = ranks * *rc::gen::inRange<std::int64_t>(1, 1025);
  const double t = static_cast<double>(ranks);
  const Flops whole = flops(MatMul{.m = m, .n = n, .k = k});
  RC_ASSERT(t * flops(MatMul{.m = m, .n = n / ranks, .k = k}) == whole);
  RC_ASSERT(t * flops(MatMul{.m = m, .n = n, .k = k / ranks}) == whole);
}

TEST(AttentionFlops, AreTwoProductsForwardAndFourBackward) {
  Attention op = square_attention();
  op.causal = false;
  const double product = 2.0 * 2 * 6 * 16 * 16 * 8;  // 2 b a s_q s_kv d
  EXPECT_EQ(flops(op), Flops(2 * product));
  op.pass = Pass::kBackward;
  EXPECT_EQ(flops(op), Flops(4 * product));
}

/// QK^T, dQ, dK and the QK^T that a fused backward pass computes again are as wide as keys; PV, dP
/// and dV as values.
TEST(AttentionFlops, OfKeysAndValuesOfTwoWidthsCountEachProductByItsOwn) {
  Attention op = square_attention();
  op.causal = false, op.value_dim = 5;
  const double column = 2.0 * 2 * 6 * 16 * 16;  // 2 b a s_q s_kv
  EXPECT_EQ(flops(op), Flops(column * (8 + 5)));
  op.pass = Pass::kBackward;
  EXPECT_EQ(flops(op), Flops(column * 2 * (8 + 5)));
  EXPECT_EQ(hardware_flops(op), Flops(column * (3 * 8 + 2 * 5)));
}

TEST(AttentionFlops, OfACausalSquareAreHalf) {
  Attention op = square_attention();
  const Flops half = flops(op);
  op.causal = false;
  EXPECT_EQ(2 * half, flops(op));
}

TEST(AttentionFlops, OfACausalRectangleAreWhole) {
  Attention op = square_attention();
  op.seq_kv = 32;
  const Flops causal = flops(op);
  op.causal = false;
  EXPECT_EQ(causal, flops(op));
}

/// Causal pairs of queries first .. last, where the own key counts half unless the window is full.
double pairs_within(std::int64_t first, std::int64_t last, std::int64_t window) {
  double sum = 0;
  for (std::int64_t i = first; i <= last; ++i) {
    sum += std::min(static_cast<double>(i) + 0.5, static_cast<double>(window));
  }
  return sum;
}

TEST(AttentionFlops, OfAWindowCountThePairsThatAreSeen) {
  Attention op = square_attention();
  const double pair = 2.0 * 2 * 6 * 2 * 8;  // 2 b a (d + d_v)
  const Flops without = flops(op);
  for (std::int64_t w = 1; w <= 17; ++w) {
    op.window = w;
    EXPECT_EQ(flops(op), Flops(pair * pairs_within(0, 15, w))) << w;
    EXPECT_EQ(hardware_flops(op), flops(op));
    EXPECT_LE(flops(op), without);
  }
  EXPECT_EQ(flops(op), without);
  op.window = 3, op.fused = false;  // the whole square is multiplied and masked
  EXPECT_EQ(hardware_flops(op), Flops(pair * 16 * 16));
}

TEST(AttentionFlops, OfABalancedShareWithinAWindowAreThoseOfTheRankThatSeesMost) {
  const std::int64_t s = 16, ranks = 4, chunk = s / (2 * ranks);
  Attention op = square_attention();
  op.seq_kv = s, op.seq_q = 2 * chunk, op.balanced = true;
  for (const std::int64_t w : {1, 3, 8, 16}) {
    double most = 0;
    for (std::int64_t r = 0; r < ranks; ++r) {
      const std::int64_t last = (2 * ranks - 1 - r) * chunk;
      most = std::max(most, pairs_within(r * chunk, (r + 1) * chunk - 1, w) +
                                pairs_within(last, last + chunk - 1, w));
    }
    op.window = w;
    EXPECT_EQ(flops(op), Flops(2.0 * 2 * 6 * 2 * 8 * most)) << w;
  }
}

TEST(AttentionFlops, FusedBackwardExecutesFiveProductsAgainstTwo) {
  Attention op = square_attention();
  const Flops forward = hardware_flops(op);
  op.pass = Pass::kBackward;
  EXPECT_EQ(hardware_flops(op), 2.5 * forward);
  EXPECT_EQ(flops(op), 2 * forward);
}

TEST(AttentionFlops, UnfusedExecutesTheWholeSquare) {
  Attention op = square_attention();
  op.fused = false;
  EXPECT_EQ(hardware_flops(op), 2 * flops(op));
  op.pass = Pass::kBackward;
  EXPECT_EQ(hardware_flops(op), 2 * flops(op));
}

RC_GTEST_PROP(AttentionProperty, SplittingHeadsOverRanksConservesFlops, ()) {
  const auto ranks = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto groups = ranks * *rc::gen::inRange<std::int64_t>(1, 5);
  const auto per_group = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto seq = *rc::gen::inRange<std::int64_t>(1, 513);
  Attention op{.pass = *rc::gen::element(Pass::kForward, Pass::kBackward),
               .batch = 2,
               .heads = groups * per_group,
               .kv_heads = groups,
               .seq_q = seq,
               .seq_kv = seq,
               .head_dim = 64,
               .causal = *rc::gen::arbitrary<bool>(),
               .fused = *rc::gen::arbitrary<bool>(),
               .dropout = *rc::gen::arbitrary<bool>()};
  const Flops whole = hardware_flops(op);
  const Bytes bytes = memory_traffic(op);
  op.heads /= ranks;
  op.kv_heads /= ranks;
  RC_ASSERT(static_cast<double>(ranks) * hardware_flops(op) == whole);
  RC_ASSERT(memory_traffic(op) * ranks == bytes);
}

TEST(Op, ExactlyTheOpsOfTheMatrixUnitsHaveFlops) {
  for (const Compute& op : each_kernel()) {
    EXPECT_EQ(flops(op) > Flops(0), uses_matrix_units(op)) << kernel_name(op);
    EXPECT_EQ(hardware_flops(op) > Flops(0), uses_matrix_units(op)) << kernel_name(op);
    EXPECT_GT(memory_traffic(op), Bytes(0)) << kernel_name(op);
  }
}

TEST(Op, MatrixUnitsRunMatmulAttentionAndRecurrencesOnly) {
  std::set<std::string> on_matrix_units;
  for (const Compute& op : each_kernel())
    if (uses_matrix_units(op)) on_matrix_units.insert(std::string(kernel_name(op)));
  EXPECT_EQ(on_matrix_units, (std::set<std::string>{"matmul", "attention", "scan", "delta_rule"}));
}

TEST(Op, KernelNamesAreDistinct) {
  std::set<std::string_view> names;
  for (const Compute& op : each_kernel()) EXPECT_TRUE(names.insert(kernel_name(op)).second);
  EXPECT_EQ(names.size(), std::variant_size_v<Compute>);
}

TEST(Op, PeakIsThatOfTheInputsOfAProductAndOfFp32Elsewhere) {
  EXPECT_EQ(compute_dtype(MatMul{.in = DType::kFp8, .out = DType::kBf16}), DType::kFp8);
  EXPECT_EQ(compute_dtype(Attention{.dtype = DType::kFp16}), DType::kFp16);
  EXPECT_EQ(compute_dtype(Norm{.dtype = DType::kBf16}), DType::kFp32);
}

TEST(Op, PassIsStatedOrFollowsFromTheKind) {
  EXPECT_EQ(pass_of(MatMul{.pass = Pass::kWeightGrad}), Pass::kWeightGrad);
  EXPECT_EQ(pass_of(CrossEntropy{.step = CrossEntropy::Step::kSums}), Pass::kForward);
  EXPECT_EQ(pass_of(CrossEntropy{.step = CrossEntropy::Step::kGradient}), Pass::kBackward);
  EXPECT_EQ(pass_of(BiasGrad{}), Pass::kWeightGrad);
  EXPECT_EQ(pass_of(Adam{}), Pass::kOptimizer);
}

}  // namespace plait::op_test
