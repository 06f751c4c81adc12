#include "costmodel/eager.h"

#include <gtest/gtest.h>

#include "costmodel/costmodel.h"
#include "costmodel/kernels.h"
#include "tests/costmodel/devices.h"

namespace plait::eager_test {

constexpr std::int64_t kRows = 8192, kWidth = 4096;

Kernels all_eager() {
  Kernels k;
  k.norm = k.rope = k.activation = k.cross_entropy = Fusion::kEager;
  return k;
}
double bytes_per_element(const Compute& op) {
  return static_cast<double>(eager_chain(op, all_eager()).bytes.value) / (kRows * kWidth);
}
Norm norm(Pass pass) { return {pass, NormKind::kRmsNorm, kRows, kWidth}; }
double on_a100(const KernelChain& chain) {
  const Cost cost = stream_cost(chain.bytes, chain.kernels, StreamKind::kCopy, a100());
  return (cost.total() + index_wait(chain, a100())).value;
}

// x.float(): 2 read, 4 written; pow: 4, 4; mean: 4; product: 4, 4; back: 4, 2; gamma: 2, 2.
TEST(Eager, RmsNormMovesWhatItsCodeSpellsOut) {
  EXPECT_DOUBLE_EQ(bytes_per_element(norm(Pass::kForward)), 6 + 8 + 4 + 8 + 6 + 4);
  EXPECT_GT(bytes_per_element(norm(Pass::kBackward)), 36 * 2);
}

// silu: 2 read, 2 written; product: 4 read, 2 written.
TEST(Eager, GatedActivationIsTwoKernels) {
  const Activation op{Pass::kForward, ActivationKind::kSilu, true, kRows, kWidth};
  EXPECT_DOUBLE_EQ(bytes_per_element(op), 4 + 6);
  EXPECT_EQ(eager_chain(op, all_eager()).kernels, 2);
}

// Megatron-Core 0.16.1 on H100, over one kernel for each pass: 1.57 to 1.63 times forward, 2.46 to
// 2.66 with backward (linkedin/Liger-Kernel pull request 1326). By bytes it is not more.
TEST(Eager, AFunctionOfSeveralKernelsTakesAsLongAsThey) {
  CostModel function, eager;
  function.kernels.activation = Fusion::kFunction, eager.kernels.activation = Fusion::kEager;
  eager.kernels.gate = Fusion::kEager;  // of gate and up apart, as contiguous as the function's
  Activation op{Pass::kForward, ActivationKind::kSilu, true, kRows, kWidth};
  double moved = 0, one = 0;
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    op.pass = pass;
    EXPECT_EQ(function.compute(op, h100()).total(), eager.compute(op, h100()).total());
    moved += static_cast<double>(eager_chain(op, function.kernels).bytes.value);
    one += static_cast<double>(memory_traffic(Compute(op)).value);
    EXPECT_GT(moved / one, pass == Pass::kForward ? 1.57 : 2.2);
    EXPECT_LT(moved / one, pass == Pass::kForward ? 1.7 : 2.66);
  }
}

// Three gathers (2 read, 2 written) and a scatter into zeros (2 written, 2 read, 2 written);
// backward one gather and three scatters.
TEST(Eager, PackingCopiesWhatAttentionReadsAndWrites) {
  Attention op{.batch = 2, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512, .head_dim = 64};
  Kernels packed;
  packed.packing = Fusion::kEager;
  const double elements = 2 * 8 * 512 * 64;
  const auto bytes = [&] {
    return static_cast<double>(packing_chain(op, packed).bytes.value) / elements;
  };
  EXPECT_DOUBLE_EQ(bytes(), 3 * 4 + 6);
  EXPECT_EQ(packing_chain(op, {}).kernels, 0);
  CostModel plain, copying;
  copying.kernels = packed;
  const Cost copies = stream_cost(packing_chain(op, packed).bytes, 5, StreamKind::kCopy, a100());
  EXPECT_NEAR((copying.compute(op, a100()).total() - plain.compute(op, a100()).total()).value,
              copies.total().value, 1e-12);
  op.pass = Pass::kBackward;
  EXPECT_DOUBLE_EQ(bytes(), 4 + 3 * 6);
  op.fused = false;
  EXPECT_EQ(packing_chain(op, packed).kernels, 0);
}

// What a gather wrote and a scatter will read is read and written once more; other axes and
// collectives know nothing of a sequence.
TEST(Eager, ASequenceBehindTheBatchIsCopiedWhole) {
  Kernels eager;
  eager.sequence = Fusion::kEager;
  Collective gather;
  gather.kind = CollectiveKind::kAllGather, gather.axes = Axis::kTp, gather.elements = 1 << 20;
  EXPECT_EQ(sequence_chain(gather, eager).bytes, Bytes(2 * 2 << 20));
  EXPECT_EQ(sequence_chain(gather, {}).kernels, 0);
  Collective scatter = gather;
  scatter.kind = CollectiveKind::kReduceScatter;
  EXPECT_EQ(sequence_chain(scatter, eager).kernels, 1);
  Collective sum = gather;
  sum.kind = CollectiveKind::kAllReduce;
  EXPECT_EQ(sequence_chain(sum, eager).kernels, 0);
  gather.axes = Axis::kFsdp;
  EXPECT_EQ(sequence_chain(gather, eager).kernels, 0);
}

// 2 bytes read for the largest value; 2 read, 1 written and 1 for the transposed copy.
TEST(Eager, ACastTo8BitsLooksForItsScaleFirst) {
  Kernels current;
  current.amax = Fusion::kEager;
  const Cast cast{1000, DType::kBf16, DType::kFp8}, other{1000, DType::kBf16, DType::kFp32};
  const Cast transpose{1000, DType::kFp8, DType::kFp8};
  Cast scaled = cast;
  scaled.scaled = true;
  EXPECT_EQ(eager_chain(cast, current).bytes, Bytes(1000 * (2 + 4)));
  EXPECT_EQ(eager_chain(cast, {}).kernels, 0);
  Kernels blocks;
  blocks.amax = Fusion::kBlocks;
  EXPECT_EQ(eager_chain(cast, blocks).kernels, 0);
  for (const Cast& c : {other, transpose, scaled}) EXPECT_EQ(eager_chain(c, current).kernels, 0);
}

// The scales in 8 bits are restored by one kernel, and their mean is added in place by another, 8
// bytes a scale.
TEST(Eager, NestedScalesOfFourBitWeightsTakeTwoKernelsMore) {
  const Cast single{6400, DType::kNf4, DType::kBf16};
  Cast nested = single;
  nested.nested = true;
  EXPECT_EQ(eager_chain(single, {}).kernels, 0);
  EXPECT_EQ(eager_chain(nested, {}).kernels, 3);
  EXPECT_EQ(eager_chain(nested, {}).bytes, memory_traffic(nested) + Bytes(8 * 100));
}

TEST(Eager, ANormWithAFrozenGammaHasNoGradientOfIt) {
  Kernels eager;
  eager.norm = Fusion::kEager;
  Norm norm{Pass::kBackward, NormKind::kRmsNorm, 1024, 4096, DType::kBf16};
  const KernelChain all = eager_chain(norm, eager);
  norm.pass = Pass::kInputGrad;
  const KernelChain input = eager_chain(norm, eager);
  const std::int64_t elements = norm.rows * norm.width, bf16 = 2, fp32 = 4;
  EXPECT_EQ(all.bytes.value - input.bytes.value, elements * (3 * bf16 + 2 * fp32));
  EXPECT_EQ(all.kernels - input.kernels, 2);
}

// The product with alpha / r reads and writes, the sum reads both and writes: 5 times the tensor,
// where one kernel has 3.
TEST(Eager, WhatAnAdapterAddsIsMultipliedBefore) {
  Add change{.rows = 1024, .width = 4096, .scaled = true};
  const std::int64_t tensor = change.rows * change.width * 2;
  const KernelChain apart = eager_chain(change, {});
  EXPECT_EQ(apart.bytes.value, 5 * tensor);
  EXPECT_EQ(apart.kernels, 2);
  EXPECT_EQ(eager_chain(change, {.adapters = Fusion::kFused}).kernels, 0);
  EXPECT_EQ(memory_traffic(change).value, 3 * tensor);
  change.pass = Pass::kBackward;
  EXPECT_EQ(eager_chain(change, {}).bytes.value, 2 * tensor);
  EXPECT_EQ(memory_traffic(change).value, 2 * tensor);
  EXPECT_EQ(eager_chain(Add{.rows = 2, .width = 2}, {}).kernels, 0) << "no adapter's";
}

// Keys and values of 2 heads are read (2 bytes an element) and those of 8 written, and backward the
// other way round; the attention between has as many key heads as query heads.
TEST(Eager, SharedKeysAreCopiedForEachQueryHead) {
  Attention op{.batch = 2, .heads = 8, .kv_heads = 2, .seq_q = 512, .seq_kv = 512, .head_dim = 64};
  Kernels repeated;
  repeated.shared_keys = Fusion::kEager;
  CostModel plain, copying;
  copying.kernels = repeated;
  for (Pass pass : {Pass::kForward, Pass::kBackward}) {
    op.pass = pass;
    EXPECT_EQ(shared_keys_chain(op, repeated).bytes.value, 2 * (2 + 8) * 2 * 512 * 64 * 2);
    EXPECT_EQ(shared_keys_chain(op, {}).kernels, 0);
    Attention of_all = op;
    of_all.kv_heads = of_all.heads;
    EXPECT_EQ(shared_keys_chain(of_all, repeated).kernels, 0);
    EXPECT_NEAR(
        copying.compute(op, a100()).total().value,
        plain.compute(of_all, a100()).total().value + on_a100(shared_keys_chain(op, repeated)),
        1e-12);
  }
}

// b p in fp32 (4 bytes written), its sum with the product's result (2 and 4 read, 4 written), all
// experts' in one tensor (8), the cast (6). Backward the two casts (6, 6), the gradient of the
// results in one tensor (4), and for the biases and for the gates a product (8) and a sum (4).
TEST(Eager, BiasesOfExpertsAreAddedInFp32) {
  Kernels biased;
  biased.expert_bias = Fusion::kEager;
  Combine op{.rows = kRows, .width = kWidth, .chosen = 2, .slots = 2 * kRows};
  const auto bytes = [&] {
    return static_cast<double>(expert_bias_chain(op, biased).bytes.value) / (2.0 * kRows * kWidth);
  };
  EXPECT_DOUBLE_EQ(bytes(), 4 + 10 + 8 + 6);
  EXPECT_EQ(expert_bias_chain(op, {}).kernels, 0);
  CostModel plain, adding;
  adding.kernels = biased;
  EXPECT_NEAR((adding.compute(op, a100()).total() - plain.compute(op, a100()).total()).value,
              on_a100(expert_bias_chain(op, biased)), 1e-12);
  op.pass = Pass::kBackward;
  EXPECT_DOUBLE_EQ(bytes(), 6 + 6 + 4 + 2 * 12);
}

// Both halves clamped (2 x 4 bytes) and in one tensor again (8). Backward of gate a comparison (2 +
// 1) and a choice (1 + 2 + 2); of up two comparisons, both of them (2 + 1) and a choice; their
// gradients in one tensor (8). Per element of the activation's output.
TEST(Eager, ClampsReadAndWriteGateAndUpTwice) {
  Kernels clamped;
  clamped.clamp = Fusion::kEager;
  Activation op{.gated = true, .rows = kRows, .width = kWidth, .dtype = DType::kBf16};
  const auto bytes = [&] {
    return static_cast<double>(clamp_of(op, clamped).bytes.value) / (1.0 * kRows * kWidth);
  };
  EXPECT_DOUBLE_EQ(bytes(), 2 * 4 + 8);
  EXPECT_EQ(clamp_of(op, {}).kernels, 0);
  CostModel plain, clamping;
  clamping.kernels = clamped;
  EXPECT_NEAR((clamping.compute(op, a100()).total() - plain.compute(op, a100()).total()).value,
              on_a100(clamp_of(op, clamped)), 1e-12);
  op.pass = Pass::kBackward;
  EXPECT_DOUBLE_EQ(bytes(), (3 + 5) + (2 * 3 + 3 + 5) + 8);
  op.gated = false;
  EXPECT_EQ(clamp_of(op, clamped).kernels, 0);
}

// TransformerEngine pull request 2045: GroupedLinear's products on H100, in TFLOP/s, without the
// slow-down between a layer's other kernels.
TEST(Eager, ExpertsOneByOneTakeWhatGroupedLinearTakes) {
  CostModel apart, together;
  apart.kernels.experts = Fusion::kEager;
  const double alone = 1.10;
  for (const auto& [experts, rows, published] :
       {std::tuple{8, 4096, 628.}, std::tuple{16, 2048, 554.}}) {
    MatMul op{.m = rows, .n = 768, .k = 2048, .in = DType::kBf16, .out = DType::kBf16};
    const Seconds one = apart.compute(op, h100()).total();
    op.batch = experts;
    const Seconds sum = apart.compute(op, h100()).total();
    EXPECT_NEAR(sum / one, experts, 1e-9);
    EXPECT_LT(together.compute(op, h100()).total(), sum);
    const double flops = 2.0 * experts * rows * 768 * 2048;
    EXPECT_NEAR(alone * flops / sum.value / 1e12, published, 0.05 * published);
  }
}

// The norm reads the gradients (4 bytes), the clip factor's product reads and writes them (8);
// fp32 weights are read once more for the copy in 16 bits. PyTorch 2.11 on an H100, of the 3.16
// billion parameters of scenarios/gpu-round/mixtral-2-layers.json, in ms: AdamW 33.8 and the copy
// 6.9; norms 4.7 and products 9.4 (reports/gpu/h100/torch-kernels.json).
TEST(Eager, ListsOfTensorsAreUpdatedAsPyTorchDoes) {
  CostModel fused, lists;
  lists.kernels.optimizer = Fusion::kEager;
  const std::int64_t parameters = 3'164'688'384;
  const SquaredNorm norm{parameters};
  const Adam adam{parameters};
  const auto bytes = [&](const Compute& op) {
    return static_cast<double>(eager_chain(op, lists.kernels).bytes.value) / parameters;
  };
  const auto ms = [&](const CostModel& model, const Compute& op) {
    return 1e3 * model.compute(op, h100()).total().value;
  };
  EXPECT_DOUBLE_EQ(bytes(norm), 4 + 8);
  EXPECT_DOUBLE_EQ(bytes(adam), 28 + 2 + 4);
  EXPECT_NEAR(ms(lists, adam), 33.8 + 6.9, 2);
  EXPECT_NEAR(ms(lists, norm), 4.7 + 9.4, 0.7);
  EXPECT_GT(ms(lists, adam), ms(fused, adam));
  Adam whole = adam;
  whole.weight = DType::kFp32;
  EXPECT_EQ(eager_chain(whole, lists.kernels).bytes, memory_traffic(Compute(whole))) << "no copy";
  EXPECT_EQ(eager_chain(adam, {}).kernels, 0);
  Device processor = h100();
  processor.compute_capability = 0;
  EXPECT_EQ(lists.compute(adam, processor).total(), fused.compute(adam, processor).total());
}

// Of fp16 gradients (2 bytes) and an fp32 master (4): the copy in fp32 is written (4) and read by
// Adam in place of them (4 + 2 for 2); dividing it by the loss scale reads and writes it (8). Those
// of bf16 have no loss scale. The narrow weights' copy reads the master (4) as before.
TEST(Eager, NarrowGradientsAreCopiedToTheMastersTypeBeforeTheUpdate) {
  Kernels lists;
  lists.optimizer = Fusion::kEager;
  const std::int64_t parameters = 1000;
  const auto beyond_fused = [&](const Adam& op) {
    const Bytes bytes = eager_chain(op, lists).bytes - memory_traffic(Compute(op));
    return static_cast<double>(bytes.value) / parameters;
  };
  Adam adam{parameters, DType::kFp16, DType::kFp16};
  EXPECT_DOUBLE_EQ(beyond_fused(adam), 4 + (4 + 4) + 8);
  EXPECT_EQ(eager_chain(adam, lists).kernels, 4);
  adam.weight = adam.grad = DType::kBf16;
  EXPECT_DOUBLE_EQ(beyond_fused(adam), 4 + (4 + 4));
  EXPECT_EQ(eager_chain(adam, lists).kernels, 3);
  adam.master = adam.moments = DType::kBf16;
  EXPECT_DOUBLE_EQ(beyond_fused(adam), 0) << "no master";
  EXPECT_EQ(eager_chain(adam, {}).kernels, 0);
}

TEST(Eager, WhatIsOneKernelAnywayStaysSo) {
  const Activation gelu{Pass::kForward, ActivationKind::kGelu, false, kRows, kWidth};
  EXPECT_EQ(eager_chain(gelu, all_eager()).kernels, 0);
  EXPECT_EQ(eager_chain(norm(Pass::kForward), Kernels{}).kernels, 0) << "fused";
}

TEST(Eager, EveryChainTakesLongerThanItsKernel) {
  CostModel fused, eager;
  eager.kernels = all_eager();
  const CrossEntropy loss{CrossEntropy::Step::kGradient, kRows, 32000};
  const Rope rope{Pass::kForward, kRows, kWidth};
  const Activation gate{Pass::kBackward, ActivationKind::kSilu, true, kRows, kWidth};
  for (const Device& d : {a100(), h100(), b200()}) {
    for (const Compute& op : {Compute(norm(Pass::kForward)), Compute(norm(Pass::kBackward)),
                              Compute(rope), Compute(gate), Compute(loss)}) {
      EXPECT_GT(eager.compute(op, d).total(), fused.compute(op, d).total() * 1.2)
          << kernel_name(op) << " on " << d.name;
    }
  }
}

// A mask of its own reads and writes the (heads, s, s) scores of 2 bytes, forward behind a copy.
TEST(Eager, AFusedSoftmaxSparesTheMaskAndItsCopy) {
  Attention op;
  op.batch = 1, op.heads = op.kv_heads = 32, op.head_dim = 128, op.fused = false;
  op.seq_q = op.seq_kv = 4096;
  CostModel fused, eager;
  eager.kernels.softmax = SoftmaxKernel::kEager;
  const auto spared = [&] {
    return (eager.compute(op, a100()).share[kMemoryBandwidth] -
            fused.compute(op, a100()).share[kMemoryBandwidth])
        .value;
  };
  const double scores = 32.0 * 4096 * 4096 * 2, rate = a100().memory_bandwidth.value * 0.75;
  EXPECT_NEAR(spared(), (2 + 2) * scores / rate, 1e-9);
  op.pass = Pass::kBackward;
  EXPECT_NEAR(spared(), 2 * scores / rate, 1e-9);
}

/// PyTorch's standard attention without a mask, 16,384 tokens of hidden size 2,048 in heads of 64
/// and sequences of 2,048, TFLOP/s: "Pytorch" of flash-attention's benchmark_flash_attention.py in
/// its pull request 2688 (H100) and issue 1589 (B200).
TEST(Eager, SoftmaxOfPyTorchStaysBehindTheMemoryAsPublished) {
  Attention op;
  op.batch = 8, op.heads = op.kv_heads = 32, op.head_dim = 64, op.fused = op.causal = false;
  op.seq_q = op.seq_kv = 2048;
  CostModel eager, fused;
  eager.kernels.softmax = SoftmaxKernel::kEager;
  const double flops = 4.0 * 8 * 32 * 2048 * 2048 * 64;
  const auto expect = [&](Pass pass, const Device& device, double published) {
    op.pass = pass;
    const double products = pass == Pass::kForward ? 1 : 2.5;  // as that benchmark counts them
    const double measured = products * flops / (published * 1e12);
    EXPECT_NEAR(eager.compute(op, device).total().value, measured, 0.2 * measured) << device.name;
    EXPECT_LT(fused.compute(op, device).total().value, 0.8 * measured) << device.name;
  };
  expect(Pass::kForward, h100(), 50.10), expect(Pass::kBackward, h100(), 65.18);
  expect(Pass::kForward, b200(), 57.73), expect(Pass::kBackward, b200(), 168.60);
}

TEST(Eager, WhatAFasterMemoryWouldGainIsWhatIsBookedToIt) {
  CostModel costs;
  costs.kernels = all_eager();
  const double faster = 1.001;
  Device device = h100();
  device.memory_bandwidth = device.memory_bandwidth * faster;
  for (const Compute& op : {Compute(norm(Pass::kForward)), Compute(norm(Pass::kBackward)),
                            Compute(Rope{.rows = kRows, .width = kWidth})}) {
    const Cost cost = costs.compute(op, h100());
    const double gained = (cost.total() - costs.compute(op, device).total()).value;
    const double booked = cost.share[kMemoryBandwidth].value * (1 - 1 / faster);
    EXPECT_NEAR(gained, booked, 0.02 * booked);
  }
}

TEST(Eager, AFrameworksFlashAttentionIsTheOneThatRuns) {
  Attention op;
  op.batch = 1, op.heads = op.kv_heads = 32, op.head_dim = 128;
  op.seq_q = op.seq_kv = 4096;
  CostModel newest, second, first;
  second.kernels.attention = FlashKernel::kFlash2;
  first.kernels.attention = FlashKernel::kFlash1;
  const Seconds two = second.compute(op, h100()).total();
  EXPECT_GT(two, newest.compute(op, h100()).total() * 1.3);
  EXPECT_GT(first.compute(op, h100()).total(), two * 1.5) << "0.53 of the rate";
  EXPECT_EQ(second.compute(op, a100()).total(), newest.compute(op, a100()).total());
}

}  // namespace plait::eager_test
