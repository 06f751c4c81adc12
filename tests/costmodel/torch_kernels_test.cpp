// PyTorch's own kernels: element-wise ones that take an element at a time, and norms.
#include <gtest/gtest.h>

#include "costmodel/costmodel.h"
#include "costmodel/eager.h"
#include "costmodel/gradient_sums.h"
#include "costmodel/kernels.h"
#include "topologies/catalogue.h"

namespace plait::torch_kernels_test {

Kernels all_eager() {
  Kernels k;
  k.norm = k.rope = k.activation = k.cross_entropy = Fusion::kEager;
  return k;
}
Norm norm(Pass pass) { return {pass, NormKind::kRmsNorm, 8192, 4096}; }

// PyTorch 2.11 on an H200: bf16 gradients of a LLaMA's weights added to fp32 sums, in microseconds
// (reports/gpu/h200/torch-kernels.json). Their bytes alone would take 0.6 of that.
TEST(TorchKernels, SumsOfTwoTypesTakeAnElementAtATime) {
  const Device h200 = find_device("h200-sxm");
  Kernels apart;
  apart.gradient_sum = Fusion::kEager;
  for (const auto& [elements, measured] :
       {std::pair{98'304'000, 379.3}, std::pair{50'331'648, 196.7}, std::pair{28'311'552, 111.0}}) {
    MatMul op{.pass = Pass::kWeightGrad, .layout = GemmLayout::kTN, .m = elements, .n = 1, .k = 8};
    op.out = DType::kFp32, op.accumulate = true;
    const auto time = [&] {
      const KernelChain chain = gradient_sum_chain(op, apart);
      return 1e6 * (stream_cost(chain.bytes, 1, StreamKind::kCopy, h200).total() +
                    index_wait(chain, h200))
                       .value;
    };
    EXPECT_NEAR(time(), measured, 0.13 * measured) << elements;
    op.out = op.in;  // of one type: 16 bytes at a time
    EXPECT_EQ(index_wait(gradient_sum_chain(op, apart), h200).value, 0);
  }
}

// On the same GPU, rows of 8,192 tokens and 3,072 columns: x cos + rotate_half(x) sin took 37.5 +
// 115.5 + 2 x 91.6 + 93.1 us, halves of a product through SiLU and up 199.4 + 194.3 us.
TEST(TorchKernels, BroadcastAndStridedOperandsTakeAnElementAtATime) {
  const Device h200 = find_device("h200-sxm");
  CostModel eager;
  eager.kernels = all_eager();
  const auto us = [&](const Compute& op) { return 1e6 * eager.compute(op, h200).total().value; };
  EXPECT_NEAR(us(Rope{Pass::kForward, 8192, 3072}), 429, 0.15 * 429);
  const Activation halves{Pass::kForward, ActivationKind::kSilu, true, 8192, 8192};
  EXPECT_NEAR(us(halves), 394, 0.25 * 394);
  eager.kernels.gate = Fusion::kEager;
  EXPECT_LT(us(halves), 200) << "tensors of their own are contiguous";
  eager.kernels.rope = Fusion::kComplex;
  EXPECT_LT(us(Rope{Pass::kForward, 8192, 3072}), 250);
}

// Forward x and y; backward x, dy and dx, and for gamma and beta x and dy again.
TEST(TorchKernels, NormsOfPyTorchTakeTwoKernelsBackward) {
  Kernels native;
  native.norm = Fusion::kNative;
  Norm layer_norm = norm(Pass::kForward);
  layer_norm.kind = NormKind::kLayerNorm;
  for (const Kernels& k : {native, all_eager()}) {
    layer_norm.pass = Pass::kForward;
    EXPECT_EQ(eager_chain(layer_norm, k).bytes, Bytes(2 * 2 * 8192 * 4096));
    EXPECT_EQ(eager_chain(layer_norm, k).kernels, 1);
    layer_norm.pass = Pass::kBackward;
    EXPECT_EQ(eager_chain(layer_norm, k).bytes, Bytes(5 * 2 * 8192 * 4096));
    EXPECT_EQ(eager_chain(layer_norm, k).kernels, 2);
    EXPECT_EQ(index_wait(eager_chain(layer_norm, k), find_device("a100-80-sxm")).value, 0);
  }
  EXPECT_EQ(eager_chain(norm(Pass::kBackward), native).kernels, 2) << "RMSNorm too";
  EXPECT_GT(eager_chain(norm(Pass::kBackward), all_eager()).kernels, 2) << "but where spelled out";
}

// Per fp32 logit: log_softmax reads it three times and writes, of which the largest of a row is the
// first step's; backward a scatter (4) and 16. Megatron-LM's subtracts (8), takes exp (8), sums (4)
// and divides (8); backward a product (8). Casts are ops of their own.
TEST(TorchKernels, LossesAreTheKernelsThatTheirCodeSpellsOut) {
  constexpr double kLogits = 8192.0 * 50304;
  const auto moved = [&](Fusion how, CrossEntropy::Step step, DType type) {
    Kernels kernels;
    kernels.cross_entropy = how;
    CrossEntropy op{step, 8192, 50304};
    op.dtype = type;
    return static_cast<double>(eager_chain(op, kernels).bytes.value) / kLogits;
  };
  using Step = CrossEntropy::Step;
  for (const auto& [how, sums, gradient] :
       {std::tuple{Fusion::kEager, 12, 20}, std::tuple{Fusion::kParallel, 28, 8}}) {
    EXPECT_EQ(moved(how, Step::kRowMax, DType::kFp32), 0) << "one kernel";
    EXPECT_EQ(moved(how, Step::kSums, DType::kFp32), sums);
    EXPECT_EQ(moved(how, Step::kGradient, DType::kFp32), gradient);
    EXPECT_GE(moved(how, Step::kRowMax, DType::kBf16), 2 + 4) << "with the cast";
    EXPECT_EQ(moved(how, Step::kGradient, DType::kBf16), gradient + 4 + 2);
  }
  Kernels fused, parallel;
  parallel.cross_entropy = Fusion::kParallel;
  const Cast widened{static_cast<std::int64_t>(kLogits), DType::kBf16, DType::kFp32};
  EXPECT_EQ(eager_chain(widened, fused).kernels, 0);
  EXPECT_GT(eager_chain(widened, parallel).indexed, 0);
}

}  // namespace plait::torch_kernels_test
