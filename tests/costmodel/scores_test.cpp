#include "costmodel/scores.h"

#include <gtest/gtest.h>

#include "costmodel/kernels.h"
#include "tests/costmodel/devices.h"

namespace plait {
namespace {

/// Causal, of 8 sequences with 4 heads on a rank.
Attention attention(Pass pass = Pass::kForward) {
  Attention op;
  op.pass = pass, op.batch = 8, op.heads = op.kv_heads = 4, op.head_dim = 128;
  op.seq_q = op.seq_kv = 2048;
  op.fused = false, op.dropout = true;
  op.dtype = DType::kFp16;
  return op;
}

/// Of each score, by what the device's memory takes.
double bytes_of_each(const Attention& op, SoftmaxKernel softmax) {
  const Seconds taken = scores_cost(op, softmax, a100()).share[kMemoryBandwidth];
  const double scores =
      static_cast<double>(op.batch * op.heads) * static_cast<double>(op.seq_q * op.seq_kv);
  const double rate =
      a100().memory_bandwidth.value * stream_fit(a100(), StreamKind::kSoftmax).bandwidth;
  return taken.value * rate / scores;
}

constexpr double kClose = 0.02;  // of a byte: what the L2 cache holds

TEST(Scores, MegatronsKernelReadsWhatTheMaskLeavesAndWritesAll) {
  const double dropout = 2 + 2 + 1;
  EXPECT_NEAR(bytes_of_each(attention(), SoftmaxKernel::kFused), 2 + 2 + dropout, kClose);
  EXPECT_NEAR(bytes_of_each(attention(), SoftmaxKernel::kMegatron), 1 + 2 + dropout, kClose);
  const Attention back = attention(Pass::kBackward);
  EXPECT_NEAR(bytes_of_each(back, SoftmaxKernel::kFused), dropout + 2 + 2 + 2, kClose);
  EXPECT_NEAR(bytes_of_each(back, SoftmaxKernel::kMegatron), dropout + 1 + 1 + 2, kClose);
}

TEST(Scores, WithoutACausalTriangleMegatronsKernelReadsAll) {
  Attention encoder = attention(), documents = attention();
  encoder.causal = false;
  documents.documents = {.count = 4, .longest = 512, .squares = 4 * 512 * 512};
  for (const Attention& op : {encoder, documents}) {
    EXPECT_EQ(scores_cost(op, SoftmaxKernel::kMegatron, a100()).total(),
              scores_cost(op, SoftmaxKernel::kFused, a100()).total());
  }
}

TEST(Scores, OneFlowDropsInTheSoftmaxsKernel) {
  const double drawn = 1, mask = 1;
  EXPECT_NEAR(bytes_of_each(attention(), SoftmaxKernel::kOneFlow), drawn + 1 + mask + 2 + 2,
              kClose);
  EXPECT_NEAR(bytes_of_each(attention(Pass::kBackward), SoftmaxKernel::kOneFlow), 2 + 2 + mask + 2,
              kClose);
  Attention kept = attention();
  kept.dropout = false;
  EXPECT_NEAR(bytes_of_each(kept, SoftmaxKernel::kOneFlow), 1 + 2, kClose);
}

TEST(Scores, MegatronsKernelTakesFoursOfHeadsAndRowsOfUpTo4096) {
  const auto kernel = [](auto change) {
    Attention op = attention();
    change(op);
    return softmax_run(op, SoftmaxKernel::kMegatron).kernel;
  };
  EXPECT_EQ(kernel([](Attention&) {}), SoftmaxKernel::kMegatron);
  EXPECT_EQ(kernel([](Attention& a) { a.batch = 1; }), SoftmaxKernel::kMegatron);
  EXPECT_EQ(kernel([](Attention& a) { a.batch = 1, a.heads = 2; }), SoftmaxKernel::kEager);
  EXPECT_EQ(kernel([](Attention& a) { a.batch = 2, a.heads = 2; }), SoftmaxKernel::kMegatron);
  EXPECT_EQ(kernel([](Attention& a) { a.seq_kv = 4096; }), SoftmaxKernel::kMegatron);
  EXPECT_EQ(kernel([](Attention& a) { a.seq_kv = 4100; }), SoftmaxKernel::kEager);
  EXPECT_EQ(kernel([](Attention& a) { a.seq_q = 2046; }), SoftmaxKernel::kEager);
}

/// Forward: cast 2 + 4, scale, mask and softmax 4 + 4 each, cast 4 + 2; then dropout.
TEST(Scores, WhatMegatronsKernelLeavesRunsInFp32) {
  Attention op = attention();
  op.batch = 1, op.heads = 2;
  const double casts = 2 * (2 + 4), dropout = 5;
  EXPECT_NEAR(bytes_of_each(op, SoftmaxKernel::kMegatron), casts + 3 * 8 + dropout, 1);
  op.pass = Pass::kBackward;
  EXPECT_NEAR(bytes_of_each(op, SoftmaxKernel::kMegatron), casts + 2 * 8 + 12 + dropout, 1);
  EXPECT_EQ(score_kernels(op, SoftmaxKernel::kMegatron), 5 + 1) << "and dropout";
  EXPECT_EQ(score_kernels(attention(), SoftmaxKernel::kMegatron), 1 + 1);
  const std::int64_t scores = op.batch * op.heads * op.seq_q * op.seq_kv;
  EXPECT_EQ(scores_beside(op, SoftmaxKernel::kMegatron), Bytes((2 + 4 + 4) * scores));
}

TEST(Scores, OfATensorParallelLayerWithTwoHeadsTakeSeveralTimesAsLong) {
  Attention two = attention(), four = attention();
  two.batch = four.batch = 1, two.heads = 2;
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    two.pass = four.pass = pass;
    EXPECT_GT(scores_cost(two, SoftmaxKernel::kMegatron, a100()).total(),
              scores_cost(four, SoftmaxKernel::kMegatron, a100()).total() * 1.5);
  }
}

}  // namespace
}  // namespace plait
