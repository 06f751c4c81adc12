#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/op.h"

namespace plait::op_traffic_test {

// Sizes are distinct primes, so that a wrong operand changes the sum.

TEST(MatMulTraffic, IsBothOperandsAndTheResult) {
  const MatMul op{.batch = 2, .m = 3, .n = 5, .k = 7, .in = DType::kBf16, .out = DType::kFp32};
  EXPECT_EQ(memory_traffic(op), Bytes(2 * (2 * (3 * 7 + 7 * 5) + 4 * 3 * 5)));
}

TEST(MatMulTraffic, AccumulatingReadsTheResultToo) {
  MatMul op{.m = 3, .n = 5, .k = 7, .out = DType::kFp32};
  const Bytes plain = memory_traffic(op);
  op.accumulate = true;
  EXPECT_EQ(memory_traffic(op) - plain, Bytes(4 * 3 * 5));
}

TEST(MatMulTraffic, BiasHasOneEntryPerOutputFeature) {
  MatMul forward{.m = 3, .n = 5, .k = 7};
  const Bytes plain = memory_traffic(forward);
  forward.bias = true;
  EXPECT_EQ(memory_traffic(forward) - plain, Bytes(2 * 5));
  MatMul wgrad{.pass = Pass::kWeightGrad, .m = 5, .n = 7, .k = 3, .out = DType::kFp32};
  const Bytes plain_wgrad = memory_traffic(wgrad);
  wgrad.bias = true;
  EXPECT_EQ(memory_traffic(wgrad) - plain_wgrad, Bytes(4 * 5));
}

struct AttentionSizes {
  std::int64_t query, key, rows, square, mask;
};
Attention attention(bool fused, Pass pass) {
  return {.pass = pass,
          .batch = 2,
          .heads = 6,
          .kv_heads = 3,
          .seq_q = 5,
          .seq_kv = 7,
          .head_dim = 11,
          .causal = true,
          .fused = fused};
}
constexpr AttentionSizes kSizes = {.query = 2 * 6 * 5 * 11 * 2,
                                   .key = 2 * 3 * 7 * 11 * 2,
                                   .rows = 2 * 6 * 5 * 4,
                                   .square = 2 * 6 * 5 * 7 * 2,
                                   .mask = 2 * 6 * 5 * 7};

TEST(AttentionTraffic, FusedForwardNeverTouchesTheSquare) {
  // Q, K, V in; O and the log-sum-exp out.
  EXPECT_EQ(memory_traffic(attention(true, Pass::kForward)),
            Bytes(2 * kSizes.query + 2 * kSizes.key + kSizes.rows));
}

TEST(AttentionTraffic, FusedBackwardReadsSixAndWritesThree) {
  // Q, K, V, O, dO, log-sum-exp in; dQ, dK, dV out; rowsum(dO * O) out and in.
  EXPECT_EQ(memory_traffic(attention(true, Pass::kBackward)),
            Bytes(4 * kSizes.query + 4 * kSizes.key + 3 * kSizes.rows));
}

TEST(AttentionTraffic, UnfusedForwardMovesTheSquareSixTimes) {
  // Written by QK^T; read and written by the mask and by softmax; read by PV.
  EXPECT_EQ(memory_traffic(attention(false, Pass::kForward)),
            Bytes(2 * kSizes.query + 2 * kSizes.key + 6 * kSizes.square));
}

TEST(AttentionTraffic, UnfusedBackwardMovesTheSquareNineTimes) {
  // dV reads P; dP is written; softmax reads dP and P, writes dS; mask reads and writes; dQ and dK
  // read dS: 1 + 1 + 3 + 2 + 1 + 1. Each of the four products touches a query- and a key-sized
  // operand twice in all.
  EXPECT_EQ(memory_traffic(attention(false, Pass::kBackward)),
            Bytes(4 * kSizes.query + 4 * kSizes.key + 9 * kSizes.square));
}

TEST(AttentionTraffic, UnfusedDropoutIsOneMoreKernelWithAByteMask) {
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    Attention op = attention(false, pass);
    const Bytes plain = memory_traffic(op);
    op.dropout = true;
    EXPECT_EQ(memory_traffic(op) - plain, Bytes(2 * kSizes.square + kSizes.mask));
  }
}

TEST(AttentionTraffic, FusedDropoutIsRegenerated) {
  Attention op = attention(true, Pass::kForward);
  const Bytes plain = memory_traffic(op);
  op.dropout = true;
  EXPECT_EQ(memory_traffic(op), plain);
}

TEST(AttentionTraffic, WithoutMaskSparesOneReadAndOneWrite) {
  Attention op = attention(false, Pass::kForward);
  const Bytes causal = memory_traffic(op);
  op.causal = false;
  EXPECT_EQ(causal - memory_traffic(op), Bytes(2 * kSizes.square));
}

TEST(NormTraffic, RmsKeepsOneStatisticPerRowAndLayerNormTwo) {
  const std::int64_t matrix = 3 * 5 * 2;
  EXPECT_EQ(memory_traffic(Norm{.rows = 3, .width = 5}), Bytes(2 * matrix + 3 * 4 + 5 * 2));
  EXPECT_EQ(memory_traffic(Norm{.kind = NormKind::kLayerNorm, .rows = 3, .width = 5}),
            Bytes(2 * matrix + 2 * 3 * 4 + 2 * 5 * 2));
}

TEST(NormTraffic, BackwardReadsTwoMatricesAndWritesOne) {
  // x, dy, dx; rstd; gamma in, dgamma out.
  EXPECT_EQ(memory_traffic(Norm{.pass = Pass::kBackward, .rows = 3, .width = 5}),
            Bytes(3 * 3 * 5 * 2 + 3 * 4 + 5 * 2 + 5 * 2));
}

TEST(NormTraffic, OfBothHalvesExceedsTheFusedBackwardByTheSecondReading) {
  Norm op{.kind = NormKind::kLayerNorm, .rows = 3, .width = 5};
  op.pass = Pass::kBackward;
  const Bytes fused = memory_traffic(op);
  op.pass = Pass::kInputGrad;
  const Bytes input = memory_traffic(op);
  op.pass = Pass::kWeightGrad;
  // x, dy and the two statistics are read a second time.
  EXPECT_EQ(input + memory_traffic(op) - fused, Bytes(2 * 3 * 5 * 2 + 2 * 3 * 4));
}

TEST(ActivationTraffic, GatedReadsTwoWidthsAndWritesOne) {
  const std::int64_t width = 3 * 5 * 2;
  EXPECT_EQ(memory_traffic(Activation{.rows = 3, .width = 5}), Bytes(3 * width));
  EXPECT_EQ(memory_traffic(Activation{.gated = false, .rows = 3, .width = 5}), Bytes(2 * width));
}

TEST(ActivationTraffic, BackwardReadsInputAndGradientAndWritesTheInputsGradient) {
  const std::int64_t width = 3 * 5 * 2;
  EXPECT_EQ(memory_traffic(Activation{.pass = Pass::kBackward, .rows = 3, .width = 5}),
            Bytes((2 + 1 + 2) * width));
  EXPECT_EQ(
      memory_traffic(Activation{.pass = Pass::kBackward, .gated = false, .rows = 3, .width = 5}),
      Bytes((1 + 1 + 1) * width));
}

TEST(RopeTraffic, IsInPlaceBothWays) {
  EXPECT_EQ(memory_traffic(Rope{.rows = 3, .width = 5}), Bytes(2 * 3 * 5 * 2));
  EXPECT_EQ(memory_traffic(Rope{.pass = Pass::kBackward, .rows = 3, .width = 5}),
            Bytes(2 * 3 * 5 * 2));
}

TEST(EmbeddingTraffic, ReadsNoMoreTableRowsThanThereAre) {
  // ids, gathered rows, output.
  EXPECT_EQ(memory_traffic(Embedding{.rows = 3, .width = 5, .vocab = 100}),
            Bytes(3 * 8 + 3 * 5 * 2 + 3 * 5 * 2));
  EXPECT_EQ(memory_traffic(Embedding{.rows = 3, .width = 5, .vocab = 2}),
            Bytes(3 * 8 + 2 * 5 * 2 + 3 * 5 * 2));
}

TEST(EmbeddingTraffic, BackwardReadsAndWritesTheGradientTable) {
  EXPECT_EQ(memory_traffic(Embedding{.pass = Pass::kBackward, .rows = 3, .width = 5, .vocab = 100}),
            Bytes(3 * 8 + 3 * 5 * 2 + 2 * 3 * 5 * 4));
}

TEST(EmbeddingTraffic, LearnedPositionsAddARowPerToken) {
  Embedding op{.rows = 3, .width = 5, .vocab = 100};
  const Bytes plain = memory_traffic(op);
  op.learned_positions = true;
  EXPECT_EQ(memory_traffic(op) - plain, Bytes(3 * 5 * 2));
}

TEST(CrossEntropyTraffic, StreamsTheLogitsOncePerStepAndWritesThemOnce) {
  const std::int64_t logits = 3 * 101 * 2;
  CrossEntropy op{.rows = 3, .vocab = 101};
  EXPECT_EQ(memory_traffic(op), Bytes(logits + 3 * 4));  // maxima out
  op.step = CrossEntropy::Step::kSums;                   // maxima, int64 targets in; 2 sums out
  EXPECT_EQ(memory_traffic(op), Bytes(logits + 3 * (4 + 8 + 2 * 4)));
  op.step = CrossEntropy::Step::kLoss;  // maxima, 2 sums in; a scalar out
  EXPECT_EQ(memory_traffic(op), Bytes(3 * (4 + 2 * 4) + 4));
  op.step = CrossEntropy::Step::kGradient;
  EXPECT_EQ(memory_traffic(op), Bytes(2 * logits + 3 * (4 + 8 + 2 * 4)));
}

TEST(AddTraffic, ForwardReadsTwoAndWritesOne) {
  Add op{.rows = 3, .width = 5};
  EXPECT_EQ(memory_traffic(op), Bytes(3 * 3 * 5 * 2));
  op.bias = true;
  EXPECT_EQ(memory_traffic(op), Bytes(3 * 3 * 5 * 2 + 5 * 2));
  op.dropout = true;
  EXPECT_EQ(memory_traffic(op), Bytes(3 * 3 * 5 * 2 + 5 * 2 + 3 * 5));
}

TEST(AddTraffic, BackwardMovesOnlyWhatDropoutMasks) {
  Add op{.pass = Pass::kBackward, .rows = 3, .width = 5};
  EXPECT_EQ(memory_traffic(op), Bytes(0));
  op.dropout = true;
  EXPECT_EQ(memory_traffic(op), Bytes(2 * 3 * 5 * 2 + 3 * 5));
}

TEST(AdamTraffic, MixedPrecisionMoves30BytesPerParameterAndFp32Moves28) {
  // Gradient 4; master 4 + 4; two moments 8 + 8; bf16 weight 2.
  EXPECT_EQ(memory_traffic(Adam{.elements = 7}), Bytes(7 * (4 + 8 + 16 + 2)));
  // Without mixed precision the master is the weight.
  EXPECT_EQ(memory_traffic(Adam{.elements = 7, .weight = DType::kFp32}), Bytes(7 * (4 + 8 + 16)));
  // Both halves of the master read and written, one of them as the weight.
  EXPECT_EQ(memory_traffic(Adam{.elements = 7, .split = true}), Bytes(7 * (4 + 8 + 16)));
}

// Read and written, and a mask of one byte.
TEST(StreamTraffic, OfDropoutByItselfHasNoSum) {
  Add drop{.rows = 3, .width = 5, .dropout = true};
  drop.alone = true;
  EXPECT_EQ(memory_traffic(drop), Bytes(3 * 5 * (2 + 2 + 1)));
  drop.pass = Pass::kBackward;
  EXPECT_EQ(memory_traffic(drop), Bytes(3 * 5 * (2 + 2 + 1)));
}

TEST(StreamTraffic, IsElementsTimesTheirSize) {
  EXPECT_EQ(memory_traffic(Cast{.elements = 7}), Bytes(7 * (4 + 2)));
  EXPECT_EQ(memory_traffic(Cast{7, DType::kBf16, DType::kFp8}), Bytes(7 * (2 + 1 + 1)));
  // Without its transpose where the scale is known, and the transpose by itself.
  EXPECT_EQ(memory_traffic(Cast{.elements = 7, .to = DType::kFp8, .scaled = true}),
            Bytes(7 * (4 + 1)));
  EXPECT_EQ(memory_traffic(Cast{7, DType::kFp8, DType::kFp8}), Bytes(7 * (1 + 1)));
  EXPECT_EQ(memory_traffic(Cast{.elements = 7, .to = DType::kFp8, .alone = true}),
            Bytes(7 * (4 + 1)));
  // Codes of 4 bits and a scale for each 64; or scales in 8 bits, with one for each 256 and all
  // restored on the way.
  constexpr std::int64_t kBlocks = 512, kElements = 64 * kBlocks;
  EXPECT_EQ(memory_traffic(Cast{kElements, DType::kNf4, DType::kBf16}),
            Bytes(kElements / 2 + 4 * kBlocks + 2 * kElements));
  EXPECT_EQ(memory_traffic(Cast{kElements, DType::kNf4, DType::kNf4}), Bytes(kElements));
  EXPECT_EQ(memory_traffic(Cast{.elements = kElements, .from = DType::kNf4, .nested = true}),
            Bytes(kElements / 2 + (4 + 1 + 4) * kBlocks + 4 * 2 + 2 * kElements));
  // 16 elements in 8 bytes and a scale of one.
  EXPECT_EQ(memory_traffic(Cast{48, DType::kBf16, DType::kNvfp4, 2}), Bytes(48 * 2 + 2 * 3 * 9));
  EXPECT_EQ(memory_traffic(Fill{.elements = 7}), Bytes(7 * 4));
  EXPECT_EQ(memory_traffic(SquaredNorm{.elements = 7}), Bytes(7 * 4 + 4));
  EXPECT_EQ(memory_traffic(Amax{.elements = 7}), Bytes(7 * 4));
  EXPECT_EQ(memory_traffic(BiasGrad{.rows = 3, .width = 5}), Bytes(3 * 5 * 2 + 5 * 4));
}

RC_GTEST_PROP(TrafficProperty, SplittingRowsConservesTheBytesOfRowWiseOps, ()) {
  const auto ranks = *rc::gen::inRange<std::int64_t>(1, 17);
  const auto rows = ranks * *rc::gen::inRange<std::int64_t>(1, 513);
  const auto width = *rc::gen::inRange<std::int64_t>(1, 4097);
  const Pass pass = *rc::gen::element(Pass::kForward, Pass::kBackward);
  const Activation whole{.pass = pass, .rows = rows, .width = width};
  const Activation part{.pass = pass, .rows = rows / ranks, .width = width};
  RC_ASSERT(memory_traffic(part) * ranks == memory_traffic(whole));
  const Add sum{.pass = pass, .rows = rows, .width = width, .dropout = true};
  const Add share{.pass = pass, .rows = rows / ranks, .width = width, .dropout = true};
  RC_ASSERT(memory_traffic(share) * ranks == memory_traffic(sum));
}

// ---- gates of experts

TEST(TrafficOfGates, IsANumberForEachRowOfAnActivationAndOfNoCombine) {
  const double r = 6, w = 8, e = 2;
  Activation plain{.rows = 6, .width = 8}, weighted = plain;
  weighted.weighted = true;
  const auto more = [&](Pass pass) {
    plain.pass = weighted.pass = pass;
    return static_cast<double>((memory_traffic(weighted) - memory_traffic(plain)).value);
  };
  EXPECT_EQ(more(Pass::kForward), r * e);
  EXPECT_EQ(more(Pass::kBackward), 2 * r * e);
  const double slots = 10, k = 2, index = 8;
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    const Combine sums{
        .pass = pass, .rows = 6, .width = 8, .chosen = 2, .slots = 10, .weighted = false};
    EXPECT_EQ(static_cast<double>(memory_traffic(sums).value), (r + slots) * w * e + r * k * index);
  }
}

// ---- norms of heads: rows [q | k | v] of which queries and keys are normalised

TEST(TrafficOfHeadNorm, ForwardMovesWholeRowsAndBackwardQueriesAndKeys) {
  const double r = 6, a = 4, kv = 2, d = 8, v = 2 * 8, e = 2, stat = 4;
  HeadNorm op{.rows = 6, .heads = 4, .kv_heads = 2, .head_dim = 8, .key_dim = 8, .value_width = 16};
  const double normed = r * (a + kv) * d * e, stats = r * (a + kv) * stat, gammas = 2 * d * e;
  const auto bytes = [&op](Pass pass) {
    op.pass = pass;
    return static_cast<double>(memory_traffic(op).value);
  };
  EXPECT_EQ(bytes(Pass::kForward), 2 * (normed + r * v * e) + stats + gammas);
  EXPECT_EQ(bytes(Pass::kBackward), 3 * normed + stats + 2 * gammas);
  // Across heads: two statistics of a row, and gammas as wide as all heads.
  op.heads = op.kv_heads = 1, op.head_dim = 4 * 8, op.key_dim = 2 * 8;
  EXPECT_EQ(bytes(Pass::kForward), 2 * (normed + r * v * e) + r * 2 * stat + (a + kv) * d * e);
}

// ---- latent attention: heads are put together from three operands, and taken apart again

TEST(TrafficOfLatentHeads, IsEveryOperandOnce) {
  const double r = 6, a = 3, own = 5, rope = 2, v = 7, e = 2;
  const double apart = a * (own + rope) + a * (own + v) + rope;
  const double packed = 2 * a * (own + rope) + a * v;
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    const LatentHeads op{
        .pass = pass, .rows = 6, .heads = 3, .head_dim = 7, .value_dim = 7, .rope_dim = 2};
    EXPECT_EQ(static_cast<double>(memory_traffic(op).value), r * (apart + packed) * e);
  }
}

TEST(TrafficOfAttention, OfKeysAndValuesOfTwoWidthsReadsEachByItsOwn) {
  const double b = 2, a = 6, kv = 3, s = 16, d = 8, dv = 5, e = 2, stat = 4;
  Attention op{.batch = 2,
               .heads = 6,
               .kv_heads = 3,
               .seq_q = 16,
               .seq_kv = 16,
               .head_dim = 8,
               .value_dim = 5};
  const double q = b * a * s * d * e, o = b * a * s * dv * e, rows = b * a * s * stat;
  const double k = b * kv * s * d * e, v = b * kv * s * dv * e;
  const auto bytes = [&op] { return static_cast<double>(memory_traffic(op).value); };
  EXPECT_EQ(bytes(), q + k + v + o + rows);
  op.pass = Pass::kBackward;  // reads Q, K, V, O, dO, log-sum-exp; writes dQ, dK, dV; rowsum twice
  EXPECT_EQ(bytes(), 2 * (q + k + v) + 2 * o + 3 * rows);
}

// ---- experts: tokens and slots are read or written once, choices are a gate and an index each

TEST(TrafficOfExperts, IsTokensSlotsAndChoices) {
  const double r = 6, E = 4, k = 2, w = 5, S = 16, e = 2, index = 8;
  const auto bytes = [](const Compute& op) {
    return static_cast<double>(memory_traffic(op).value);
  };
  Route route{.tokens = 3, .groups = 2, .experts = 4, .chosen = 2, .capacity = 2};
  EXPECT_EQ(bytes(route), r * E * e + r * k * (e + index));
  route.pass = Pass::kBackward;
  EXPECT_EQ(bytes(route), r * E * e + r * k * (2 * e + index));
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    const Dispatch dispatch{.pass = pass, .rows = 6, .width = 5, .chosen = 2, .slots = 16};
    EXPECT_EQ(bytes(dispatch), (r + S) * w * e + r * k * index);
  }
  // Of gathered tokens, slots of all experts are read and a rank's own written.
  const Dispatch gathered{.rows = 6, .width = 5, .chosen = 2, .slots = 16, .senders = 3};
  EXPECT_EQ(bytes(gathered), (r + S) * w * e + 2 * r * k * index);
  Combine combine{.rows = 6, .width = 5, .chosen = 2, .slots = 16};
  EXPECT_EQ(bytes(combine), (r + S) * w * e + r * k * (e + index));
  combine.pass = Pass::kBackward;
  EXPECT_EQ(bytes(combine), (r + 2 * S) * w * e + r * k * (2 * e + index));
}

TEST(Traffic, OfProductsInNvfp4CountsBlocksScales) {
  const MatMul op{.m = 16, .n = 32, .k = 48, .in = DType::kNvfp4, .out = DType::kBf16};
  EXPECT_EQ(memory_traffic(op), Bytes((16 * 48 + 48 * 32) / 16 * 9 + 16 * 32 * 2));
  EXPECT_EQ(bytes_of(DType::kNvfp4, 17), 8 + 1 + 1);  // the 17th takes a byte that others may share
}

}  // namespace plait::op_traffic_test
