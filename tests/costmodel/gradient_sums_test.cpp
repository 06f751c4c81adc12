#include "costmodel/gradient_sums.h"

#include <gtest/gtest.h>

#include "costmodel/costmodel.h"
#include "costmodel/kernels.h"
#include "tests/costmodel/devices.h"

namespace plait::gradient_sums_test {

double on_a100(const KernelChain& chain) {
  const Cost cost = stream_cost(chain.bytes, chain.kernels, StreamKind::kCopy, a100());
  return (cost.total() + index_wait(chain, a100())).value;
}

// The product writes its result (2 bytes), which another kernel reads (2) and adds to the sum of 4
// bytes (4 read, 4 written); fused it reads and writes the sum itself.
TEST(GradientSums, OfMicrobatchesAreAddedUpBehindTheirProduct) {
  MatMul op{.pass = Pass::kWeightGrad, .layout = GemmLayout::kTN, .m = 512, .n = 256, .k = 1024};
  op.out = DType::kFp32, op.accumulate = true;
  Kernels apart;
  apart.gradient_sum = Fusion::kEager;
  EXPECT_EQ(gradient_sum_chain(op, apart).bytes.value, 512 * 256 * (2 + 8));
  EXPECT_EQ(gradient_sum_chain(op, {}).kernels, 0);
  CostModel plain, summing;
  summing.kernels = apart;
  MatMul written = op;
  written.accumulate = false, written.out = op.in;
  const double sum = on_a100(gradient_sum_chain(op, apart));
  EXPECT_NEAR(summing.compute(op, a100()).total().value,
              plain.compute(written, a100()).total().value + sum, 1e-12);
  EXPECT_EQ(gradient_sum_chain(written, apart).kernels, 0) << "the first microbatch writes";
}

// In 8 bits a product writes 2 bytes all the same.
TEST(GradientSums, OfNarrowProductsAreOfSixteenBits) {
  MatMul op{.pass = Pass::kWeightGrad, .m = 512, .n = 256, .k = 1024, .in = DType::kFp8};
  op.out = DType::kFp32, op.accumulate = true;
  Kernels apart;
  apart.gradient_sum = Fusion::kEager;
  EXPECT_EQ(written_alone(op), DType::kBf16);
  EXPECT_EQ(gradient_sum_chain(op, apart).bytes.value, 512 * 256 * (2 + 8));
}

// What the product has written (2 bytes) is read and written once more.
TEST(GradientSums, ScalesOfRowsTakeOneMoreKernel) {
  MatMul op{.pass = Pass::kInputGrad, .m = 4096, .n = 1024, .k = 512, .in = DType::kFp8};
  MatMul plain = op;
  op.rescaled = true;
  EXPECT_EQ(rescale_chain(op).bytes.value, 4096 * 1024 * (2 + 2));
  EXPECT_EQ(rescale_chain(plain).kernels, 0);
  const CostModel model;
  EXPECT_GT(model.compute(op, h100()).total(), model.compute(plain, h100()).total());
}

// A table of zeros is written (2 bytes), and read (2) and added to the sum of 4 bytes (4 read, 4
// written), besides the rows of the tokens; not where a pass has zeros of its own to add them to.
TEST(GradientSums, OfATableAreMadeWholeBesideItsRows) {
  const Embedding op{Pass::kBackward, 512, 256, 32000, false, DType::kBf16, DType::kFp32};
  CostModel plain, whole;
  whole.kernels.table_gradient = Fusion::kEager;
  const KernelChain chain = table_gradient_chain(op, whole.kernels);
  EXPECT_EQ(chain.bytes.value, 32000 * 256 * (2 + 2 + 8));
  EXPECT_EQ(chain.kernels, 2);
  EXPECT_NEAR(whole.compute(op, a100()).total().value,
              plain.compute(op, a100()).total().value + on_a100(chain), 1e-12);
  EXPECT_EQ(table_gradient_chain(op, {}).kernels, 0);
  Embedding lookup = op, afresh = op;
  lookup.pass = Pass::kForward, afresh.accumulate = false;
  EXPECT_EQ(table_gradient_chain(lookup, whole.kernels).kernels, 0);
  EXPECT_EQ(table_gradient_chain(afresh, whole.kernels).kernels, 0);
}

}  // namespace plait::gradient_sums_test
