#include "costmodel/autocast_chains.h"

#include <gtest/gtest.h>

#include "tests/costmodel/devices.h"

namespace plait::autocast_chains_test {

constexpr std::int64_t kRows = 8192, kWidth = 4096;

Kernels eager() {
  Kernels k;
  k.norm = k.rope = Fusion::kEager;
  return k;
}
double bytes_per_element(const Compute& op) {
  return static_cast<double>(eager_chain(op, eager()).bytes.value) / (kRows * kWidth);
}

// Read and written once for each projection that is run by itself; backward, in fp32, the casts of
// three gradients and two sums of 12 bytes.
TEST(AutocastChains, AutocastCastsForEachProjection) {
  Cast input{1000, DType::kFp32, DType::kBf16};
  input.autocast = true, input.packed = {{64, 64, 64}, false};
  Cast gradient{1000, DType::kBf16, DType::kFp32};
  gradient.autocast = true, gradient.packed = input.packed;
  Kernels apart;
  apart.qkv = Fusion::kEager;
  EXPECT_EQ(eager_chain(input, {}).bytes, Bytes(1000 * 6));
  EXPECT_EQ(eager_chain(input, apart).bytes, Bytes(1000 * 3 * 6));
  EXPECT_EQ(eager_chain(input, apart).kernels, 3);
  EXPECT_EQ(eager_chain(gradient, {}).bytes, Bytes(1000 * 6));
  EXPECT_EQ(eager_chain(gradient, apart).bytes, Bytes(1000 * (3 * 6 + 2 * 12)));
  EXPECT_EQ(eager_chain(gradient, apart).kernels, 5);
  // PyTorch's copies take several elements at a time on the way to 16 bits alone.
  EXPECT_EQ(index_wait(eager_chain(input, apart), h100()), Seconds());
  EXPECT_GT(index_wait(eager_chain(gradient, apart), h100()), Seconds());
}

// Cast to 4 bytes by one kernel, and added in place by another.
TEST(AutocastChains, AutocastAddsAWeightsGradientBehindItsCast) {
  Cast sum{1000, DType::kBf16, DType::kFp32};
  sum.autocast = sum.accumulate = true;
  EXPECT_EQ(eager_chain(sum, {}).bytes, Bytes(1000 * (2 + 4 + 12)));
  EXPECT_EQ(eager_chain(sum, {}).kernels, 2);
}

// Residuals in fp32 and a branch in bf16: 4 + 2 read, 4 written, an element at a time.
TEST(AutocastChains, ASumOfTwoTypesTakesLongerThanItsBytes) {
  Add sum{Pass::kForward, kRows, kWidth, false, false, DType::kFp32};
  EXPECT_EQ(eager_chain(sum, {}).kernels, 0);
  sum.addend = DType::kBf16;
  EXPECT_EQ(memory_traffic(Compute(sum)), Bytes(kRows * kWidth * (4 + 2 + 4)));
  const KernelChain mixed = eager_chain(sum, {});
  EXPECT_EQ(mixed.bytes, memory_traffic(Compute(sum)));
  EXPECT_GT(index_wait(mixed, h100()), Seconds());
}

// cos and sin in fp32: products of 2 + 4 bytes twice, half negated, both halves put together, a sum
// in fp32 and its cast, of queries and of keys.
TEST(AutocastChains, PromotedRotationsAreCastBack) {
  Rope rope{Pass::kForward, kRows, kWidth};
  rope.promoted = true;
  EXPECT_DOUBLE_EQ(bytes_per_element(rope), 2 * 6 + 2 + 4 + 12 + 6);
  EXPECT_EQ(eager_chain(rope, eager()).kernels, 2 * 6);
}

// x is in fp32: pow: 4 read, 4 written; mean: 4; product: 4, 4; gamma: 4, 4.
TEST(AutocastChains, ANormInFp32CastsNothing) {
  const Norm wide{Pass::kForward, NormKind::kRmsNorm, kRows, kWidth, DType::kFp32};
  EXPECT_DOUBLE_EQ(bytes_per_element(wide), 8 + 4 + 8 + 8);
  EXPECT_EQ(eager_chain(wide, eager()).kernels, 5);
}

}  // namespace plait::autocast_chains_test
