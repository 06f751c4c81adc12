// One list of an op's kernels: what takes longer by more kernels is issued by more calls, and moves
// what these move.
#include "costmodel/launches.h"

#include <gtest/gtest.h>

#include "costmodel/autocast_chains.h"
#include "costmodel/costmodel.h"
#include "costmodel/expert_chains.h"
#include "costmodel/gradient_sums.h"
#include "costmodel/issue.h"
#include "costmodel/projections.h"
#include "tests/costmodel/devices.h"

namespace plait::launches_test {

constexpr std::int64_t kRows = 8192, kWidth = 4096;

/// What `eager` runs beyond `fused`: kernels by chains of element-wise ones, calls of the host, and
/// bytes.
struct More {
  std::int64_t calls;
  Bytes bytes;
  Seconds time;
};
More more(const Compute& op, const Kernels& eager) {
  CostModel together, apart;
  apart.kernels = eager;
  return {host_calls(op, eager) - host_calls(op, {}),
          apart.memory_bytes(op, h100()) - together.memory_bytes(op, h100()),
          apart.compute(op, h100()).total() - together.compute(op, h100()).total()};
}

// In place of one kernel: as many calls as the chain has kernels (docs/models/memory-bound.md).
TEST(Launches, OfAChainAreACallForEachKernel) {
  const Kernels eager{.dropout = Fusion::kEager,
                      .norm = Fusion::kEager,
                      .rope = Fusion::kEager,
                      .activation = Fusion::kEager};
  Activation swiglu{.rows = kRows, .width = kWidth};
  Norm norm{Pass::kForward, NormKind::kRmsNorm, kRows, kWidth};
  Rope rope{Pass::kForward, kRows, kWidth};
  Add add{.rows = kRows, .width = kWidth, .dropout = true};
  const std::array<Compute, 4> ops = {norm, rope, swiglu, add};
  const std::array<int, 4> kernels = {7, 2 * 5, 2, 2};
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const More beyond = more(ops[i], eager);
    EXPECT_EQ(beyond.calls, kernels[i] - 1) << i;
    EXPECT_EQ(kernels[i], eager_chain(ops[i], eager).kernels) << i;
    EXPECT_GT(beyond.bytes, Bytes()) << i;
    EXPECT_GT(beyond.time, Seconds()) << i;
  }
  const Kernels complex{.rope = Fusion::kComplex}, function{.activation = Fusion::kFunction};
  EXPECT_EQ(more(rope, complex).calls, 2 * 3 - 1);
  EXPECT_EQ(more(swiglu, function).calls, 2 - 1);
  norm.pass = rope.pass = swiglu.pass = Pass::kBackward;
  EXPECT_EQ(more(norm, eager).calls, 13 - 1) << "gamma's sum over microbatches in either case";
  EXPECT_EQ(more(rope, eager).calls, 2 * 7 - 1);
  EXPECT_EQ(more(swiglu, eager).calls, 4 - 1);
}

// aten::native_layer_norm_backward launches both of its kernels.
TEST(Launches, OfANormOfPyTorchsAreOneCall) {
  const Kernels native{.norm = Fusion::kNative};
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    const Norm norm{pass, NormKind::kLayerNorm, kRows, kWidth};
    EXPECT_EQ(more(norm, native).calls, 0);
  }
}

// Beside the op's kernel: what each choice adds is added to calls and bytes alike.
TEST(Launches, BesideAKernelAreCallsAndBytesToo) {
  const auto adds = [](const Compute& op, const Kernels& eager, const KernelChain& chain) {
    const More beyond = more(op, eager);
    EXPECT_GT(chain.kernels, 0);
    EXPECT_EQ(beyond.calls, chain.kernels);
    EXPECT_EQ(beyond.bytes, chain.bytes);
  };
  const Activation swiglu{.rows = kRows, .width = kWidth};
  const Kernels clamp{.clamp = Fusion::kEager};
  adds(swiglu, clamp, clamp_of(swiglu, clamp));
  const Attention attention{
      .batch = 2, .heads = 8, .kv_heads = 8, .seq_q = 4096, .seq_kv = 4096, .head_dim = 64};
  const Kernels packing{.packing = Fusion::kEager};
  adds(attention, packing, packing_chain(attention, packing));
  const Dispatch to{.rows = kRows, .width = kWidth, .chosen = 2, .slots = 2 * kRows};
  const Kernels padding{.expert_padding = Fusion::kEager};
  adds(to, padding, expert_padding_chain(to, padding));
}

// The all_gather of a sequence that is not the outermost dimension is a call, the copy another.
TEST(Launches, OfASequenceThatIsCopiedAreOneMore) {
  Collective gather;
  gather.kind = CollectiveKind::kAllGather, gather.axes = Axis::kTp;
  const Block block{"b", {{gather, Stream::kTp, Phase::kForward, {}}}};
  const Host host{Seconds(1), Seconds(100)};
  EXPECT_EQ(issue_times(block, host)[0], Seconds(100));
  EXPECT_EQ(issue_times(block, host, {.sequence = Fusion::kEager})[0], Seconds(101));
}

// Three projections, the sums of three weights' gradients, by each a bias's over rows and over
// microbatches.
TEST(Launches, OfProjectionsAreThoseOfEach) {
  MatMul m{.pass = Pass::kWeightGrad, .m = 3 * 512, .n = 512, .k = 2048, .accumulate = true};
  m.bias = true, m.packed = {{512, 512, 512}, false};
  const Kernels each{.qkv = Fusion::kEager, .bias = Fusion::kEager, .gradient_sum = Fusion::kEager};
  EXPECT_EQ(host_calls(m, each), 3 * (1 + 1 + 1 + 1));
  EXPECT_EQ(host_calls(m), 1 + 1 + 1) << "both parameters' turns";
}

// PyTorch's cross_entropy: cast, log_softmax, the loss; backward its scatter, log_softmax's, the
// cast. Megatron-LM's: cast, maximum; shifted, exponential, sum, quotient, and 7 over rows; log,
// difference, mean; backward product, cast, one off at the target.
TEST(Launches, OfALossAreThoseOfItsCode) {
  using Step = CrossEntropy::Step;
  const auto calls = [](Fusion how, DType logits) {
    std::int64_t sum = 0;
    for (const Step step : {Step::kRowMax, Step::kSums, Step::kLoss, Step::kGradient})
      sum += host_calls(CrossEntropy{step, kRows, 32'000, logits}, {.cross_entropy = how});
    return sum;
  };
  EXPECT_EQ(calls(Fusion::kEager, DType::kBf16), 3 + 3);
  EXPECT_EQ(calls(Fusion::kEager, DType::kFp32), 2 + 2) << "casts are ops of their own";
  EXPECT_EQ(calls(Fusion::kParallel, DType::kBf16), 2 + (4 + 7) + 3 + (2 + 1));
  EXPECT_EQ(calls(Fusion::kFused, DType::kBf16), 4) << "a kernel for each step";
  EXPECT_EQ(calls(Fusion::kSingle, DType::kBf16), 2);
}

// A table of zeros, the tokens' rows, and the sum, in place of the rows and the parameter's turn.
TEST(Launches, OfATableThatIsMadeWholeAreOneMore) {
  const Embedding table{Pass::kBackward, 512, 256, 128'000};
  const Kernels whole{.table_gradient = Fusion::kEager};
  const More beyond = more(table, whole);
  EXPECT_EQ(beyond.calls, 3 - 2);
  EXPECT_EQ(beyond.bytes, table_gradient_chain(table, whole).bytes);
}

// Experts of their own add up gradients of their own.
TEST(Launches, OfExpertsApartAreThoseOfEach) {
  MatMul m{.pass = Pass::kWeightGrad, .batch = 8, .m = 512, .n = 512, .k = 512};
  m.accumulate = true;
  EXPECT_EQ(host_calls(m, {.gradient_sum = Fusion::kEager}), 1 + 1);
  EXPECT_EQ(host_calls(m, {.gradient_sum = Fusion::kEager, .experts = Fusion::kEager}), 8 * 2);
}

}  // namespace plait::launches_test
