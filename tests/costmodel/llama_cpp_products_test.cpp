#include "costmodel/llama_cpp_products.h"

#include <gtest/gtest.h>

#include "costmodel/kernels.h"
#include "tests/costmodel/devices.h"
#include "topologies/catalogue.h"

namespace plait::llama_cpp_products_test {

MatMul quantised(std::int64_t m, std::int64_t n, std::int64_t k) {
  MatMul op;
  op.m = m, op.n = n, op.k = k;
  op.weights = WeightFormat::kQ4K;
  return op;
}

// Formats of its own, on devices that it has kernels for.
TEST(LlamaCppProducts, RunInItsFormatsOnly) {
  MatMul op = quantised(512, 4096, 4096);
  EXPECT_TRUE(runs_as_in_llama_cpp(op, h100()));
  op.m = 32;
  EXPECT_FALSE(runs_as_in_llama_cpp(op, find_device("v100-pcie-32")))
      << "no matrix units for bytes";
  op.m = 8;
  EXPECT_TRUE(runs_as_in_llama_cpp(op, find_device("v100-pcie-32")));
  op.weights = WeightFormat::kInt4;
  EXPECT_FALSE(runs_as_in_llama_cpp(op, h100())) << "Marlin's";
  op.weights = WeightFormat::kMxfp4;
  EXPECT_FALSE(runs_as_in_llama_cpp(op, h100())) << "of vLLM";
  op.in_llama_cpp = true;
  EXPECT_TRUE(runs_as_in_llama_cpp(op, h100()));
}

// 0.54 G multiplications take longer than 38 MB.
TEST(LlamaCppProducts, FewRowsAreOutsideOfMatrixUnits) {
  MatMul op = quantised(8, 8192, 8192);
  EXPECT_NEAR(llama_cpp_product_cost(op, a100()).share[kPeakFlops].value,
              8.0 * 8192 * 8192 / (35 * 108 * 1.41e9), 1e-6)
      << "35 multiplications a clock of each multiprocessor";
  op.m = 16;
  EXPECT_LT(llama_cpp_product_cost(op, a100()).total().value, 0.07e-3)
      << "as bytes on the matrix units";
}

// Volta's weights are written in 16 bits and read again: 13 and 34 MB, and 34 MB.
TEST(LlamaCppProducts, VoltaWidensWeightsFirst) {
  const Device v100 = find_device("v100-pcie-32");
  const MatMul op = quantised(64, 4096, 4096);
  MatMul plain = op;
  plain.weights = WeightFormat::kPlain;
  const double more =
      (llama_cpp_product_cost(op, v100).total() - gemm_cost(plain, v100).total()).value;
  EXPECT_NEAR(more, 4096.0 * 4096 * (144.0 / 256 + 2) / (0.8 * 900e9), 0.2 * more);
}

// Their tiles are as wide as the tokens that may all choose one of them.
TEST(LlamaCppProducts, TilesOfExpertsAreMostlyEmpty) {
  MatMul op = quantised(4, 1024, 2048);
  op.batch = 128;
  op.most_rows = 128;
  const double wide = llama_cpp_product_cost(op, h100()).share[kPeakFlops].value;
  op.most_rows = 64;
  EXPECT_NEAR(llama_cpp_product_cost(op, h100()).share[kPeakFlops].value / wide, 0.5, 0.1);
  op.m = 128, op.most_rows = 128;
  EXPECT_NEAR(llama_cpp_product_cost(op, h100()).share[kPeakFlops].value / wide, 1.5, 0.2)
      << "half of such experts have a few rows beyond one tile";
}

}  // namespace plait::llama_cpp_products_test
