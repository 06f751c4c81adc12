#include "costmodel/gpu_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "costmodel/calibration_cost.h"
#include "costmodel/fit/calibrate.h"
#include "costmodel/gpu_grid.h"
#include "costmodel/kernel_features.h"
#include "costmodel/kernels.h"
#include "tests/costmodel/devices.h"

namespace plait::gpu_features_test {

const Device kGpu = h100();  // 132 multiprocessors

/// One feature of an op by its name.
double feature(const Compute& op, std::string_view name) {
  const auto named = gpu_features_of(kernel_class(op));
  const auto found = std::ranges::find(named, name, &GpuFeature::name);
  EXPECT_NE(found, named.end()) << kernel_class(op) << " has no " << name;
  return found == named.end()
             ? 0
             : gpu_features(op, kGpu)[static_cast<std::size_t>(found - named.begin())];
}

Attention attention(bool fused, bool dropout, Pass pass = Pass::kForward) {
  return {.pass = pass,
          .batch = 2,
          .heads = 8,
          .kv_heads = 8,
          .seq_q = 1024,
          .seq_kv = 1024,
          .head_dim = 64,
          .fused = fused,
          .dropout = dropout};
}

/// An op of each form, each of `rows` rows.
std::vector<Compute> ops(std::int64_t rows) {
  std::vector<Compute> out = {
      MatMul{.m = rows, .n = 512, .k = 256},
      MatMul{.layout = GemmLayout::kTN, .m = 512, .n = 256, .k = rows, .bias = true},
      Norm{Pass::kForward, NormKind::kRmsNorm, rows, 768},
      Norm{Pass::kBackward, NormKind::kLayerNorm, rows, 768},
      HeadNorm{.pass = Pass::kBackward,
               .rows = rows,
               .heads = 4,
               .kv_heads = 4,
               .head_dim = 64,
               .key_dim = 64},
      Activation{.gated = true, .rows = rows, .width = 512},
      Activation{.gated = false, .rows = rows, .width = 512},
      Rope{Pass::kForward, rows, 512},
      Embedding{.rows = rows, .width = 512, .vocab = 1000},
      Embedding{.pass = Pass::kWeightGrad, .rows = rows, .width = 512, .vocab = 1000},
      CrossEntropy{CrossEntropy::Step::kSums, rows, 1000},
      CrossEntropy{CrossEntropy::Step::kLoss, rows, 1000},
      Add{Pass::kForward, rows, 512, true, true},
      Add{Pass::kForward, rows, 512},
      BiasGrad{rows, 512},
      Cast{.elements = rows},
      Fill{.elements = rows},
      SquaredNorm{.elements = rows},
      Amax{.elements = rows},
      Adam{.elements = rows}};
  for (const bool fused : {true, false}) {
    for (const bool dropout : {true, false}) {
      for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
        Attention op = attention(fused, dropout, pass);
        op.seq_q = op.seq_kv = rows;
        out.emplace_back(op);
      }
    }
  }
  return out;
}

TEST(GpuFeatures, EveryClassHasAValueForEachName) {
  for (const Compute& op : ops(256)) {
    const std::string name = kernel_class(op);
    const auto named = gpu_features_of(name);
    const std::size_t expected =
        named.empty() ? feature_names(kernel_name(op)).size() : named.size();
    const std::vector<double> values = gpu_features(op, kGpu);
    EXPECT_EQ(values.size(), expected) << name;
    EXPECT_GT(values.at(0), 0) << name;
  }
}

// Coefficients are not negative, so that times grow with the work far beyond all that was measured,
// too. A product's compute and memory are shares of one time: with more splits of k, or more
// overlap, one of them may shrink.
TEST(GpuFeatures, MoreWorkIsNeverLess) {
  for (std::int64_t rows = 64; rows <= 1 << 20; rows *= 4) {
    const std::vector<Compute> less = ops(rows), more = ops(4 * rows);
    for (std::size_t i = 0; i < less.size(); ++i) {
      const std::vector<double> a = gpu_features(less[i], kGpu), b = gpu_features(more[i], kGpu);
      EXPECT_GE(std::accumulate(b.begin(), b.end(), 0.0), std::accumulate(a.begin(), a.end(), 0.0))
          << kernel_class(less[i]) << " " << rows;
      const auto* scores = std::get_if<Attention>(&less[i]);
      if (std::holds_alternative<MatMul>(less[i]) || (scores != nullptr && !scores->fused))
        continue;
      for (std::size_t j = 0; j < a.size(); ++j)
        EXPECT_GE(b[j], 0.999 * a[j]) << kernel_class(less[i]) << " " << rows << " feature " << j;
    }
  }
}

TEST(GpuFeatures, AProductsAreTheCostModelsSeconds) {
  const MatMul op{.m = 2048, .n = 4096, .k = 1024};
  const Cost cost = gemm_cost(op, kGpu);
  const std::vector<double> values = gpu_features(op, kGpu);
  EXPECT_NEAR((values[0] + values[1] + values[2]) / cost.total().value, 1, 1e-12);
}

// Backward of a linear layer with a bias is a product and the sum of its rows.
TEST(GpuFeatures, AWeightGradientWithABiasHasThatOfTheBias) {
  MatMul op{.layout = GemmLayout::kTN, .m = 512, .n = 256, .k = 4096, .out = DType::kFp32};
  EXPECT_EQ(feature(op, "bias_calls"), 0);
  op.bias = true;
  const BiasGrad alone{op.k, op.m};
  EXPECT_EQ(feature(op, "bias_calls"), 1);
  EXPECT_EQ(feature(op, "bias_memory"), feature(alone, "memory"));
  EXPECT_EQ(feature(op, "bias_lines"), feature(alone, "lines"));
  EXPECT_EQ(feature(MatMul{.m = 512, .n = 256, .k = 64, .bias = true}, "bias_calls"), 0)
      << "an epilogue adds it";
}

// A block adds up what eight query heads want of their key head, one after the other: with few
// blocks that is what the kernel waits for. The other kernel has a block for each query head.
TEST(GpuFeatures, HeadsThatShareAKeyHeadAreOneBlocksWork) {
  Attention op = attention(true, true, Pass::kBackward);
  op.batch = 1;
  const double apart = feature(op, "steps");
  op.kv_heads = 1;
  EXPECT_NEAR(feature(op, "steps") / apart, (8 + 1) / 2.0, 1e-12);
}

// Products run for each sample and each query head of a group, all key heads at once.
TEST(GpuFeatures, UnfusedProductsAreCalledForSamplesAndHeadsOfAGroup) {
  Attention op = attention(false, false);
  EXPECT_EQ(feature(op, "product_calls"), 2 * 2);
  op.kv_heads = 2;
  EXPECT_EQ(feature(op, "product_calls"), 2 * 2 * 4);
  op.pass = Pass::kBackward;
  EXPECT_EQ(feature(op, "product_calls"), 4 * 2 * 4) << "all queries fit into the scratch memory";
}

TEST(GpuFeatures, FusedBackwardAddsUpGradientsOfSharedKeys) {
  Attention op = attention(true, false, Pass::kBackward);
  EXPECT_EQ(feature(op, "sum_calls"), 0);
  op.kv_heads = 4;
  EXPECT_EQ(feature(op, "sum_calls"), 1);
}

// ---- grids

TEST(GpuGrid, ThreadsBeyondTheEndOfARowAreIdle) {
  // 8 elements of bf16 each: 128 threads to a row of 1024, as many to one of 520.
  EXPECT_EQ(grid_in_rows(1 << 20, 1024, DType::kBf16, kGpu).idle, 1);
  EXPECT_EQ(grid_in_rows(1 << 20, 520, DType::kBf16, kGpu).idle, 128 / 65.0);
  EXPECT_EQ(grid_in_rows(1 << 20, 521, DType::kBf16, kGpu).idle, 768 / 521.0) << "by elements";
  EXPECT_EQ(grid_by_row(1 << 20, 4096, DType::kBf16, kGpu).idle, 1) << "256 threads, two each";
  EXPECT_EQ(grid_by_row(1 << 20, 4104, DType::kBf16, kGpu).idle, 1024 / 513.0);
}

TEST(GpuGrid, RowsBeyondTheRegistersAreReadAgain) {
  EXPECT_EQ(grid_by_row(1, 8192, DType::kBf16, kGpu).again, 0);
  EXPECT_EQ(grid_by_row(1, 16384, DType::kBf16, kGpu).again, 0.5);
}

TEST(GpuGrid, AFewRowsInTheLastRoundTakeLongerThanTheirShare) {
  const auto filling = [](std::int64_t rows) {
    return grid_of_blocks(rows, 4096, DType::kFp32, kGpu).filling();
  };
  const std::int64_t round = 8 * 132;  // blocks of 256 threads
  EXPECT_EQ(filling(round), 1);
  EXPECT_EQ(filling(2 * round), 1);
  EXPECT_GT(filling(round + 1), 1.3);
  EXPECT_NEAR(filling(round + round / 2), 1, 1e-12) << "half of the threads keep memory busy";
  EXPECT_LT(filling(100 * round + 1), 1.01);
}

// ---- a calibration of a GPU

/// Times that follow from known coefficients.
std::vector<Row> measured(const std::vector<double>& coefficients) {
  RunRow run;
  run.bench = "compute", run.processor = "gpu", run.quiet = "quiet";
  std::vector<Row> rows = {run};
  for (std::int64_t n = 1 << 12; n <= 1 << 28; n += n / 2) {
    KernelRow row;
    row.op = Cast{.elements = n, .from = DType::kFp32, .to = DType::kBf16};
    const std::vector<double> features = gpu_features(row.op, kGpu);
    for (std::size_t j = 0; j < features.size(); ++j)
      row.cpu.median += coefficients[j] * features[j];
    rows.emplace_back(row);
  }
  return rows;
}

TEST(GpuCalibration, FindsPlantedCoefficientsAndPredictsWithThem) {
  const std::vector<double> planted = {2e-6, 1.1, 1.4};
  Calibration c = calibrate(measured(planted), "gpu", "hash", &kGpu).calibration;
  const KernelFit& fit = c.kernels.at("cast.fp32_to_bf16");
  ASSERT_TRUE(fit.on_gpu);
  for (std::size_t j = 0; j < planted.size(); ++j)
    EXPECT_NEAR(fit.coefficients[j] / planted[j], 1, 1e-3);
  const Cast op{.elements = 1 << 24, .from = DType::kFp32, .to = DType::kBf16};
  const Cost cost = *fitted_cost(op, c, kGpu);
  EXPECT_NEAR(cost.share[kLaunchOverhead].value, 2e-6, 1e-8);
  const std::vector<double> features = gpu_features(op, kGpu);
  EXPECT_NEAR(cost.share[kMemoryBandwidth].value, 1.1 * features[1] + 1.4 * features[2], 1e-7);
  EXPECT_EQ(cost.provenance, Provenance::kFitted);
}

TEST(GpuCalibration, ReadsBackAsWritten) {
  const Calibration c = calibrate(measured({2e-6, 1.1, 1.4}), "gpu", "hash", &kGpu).calibration;
  const Calibration back = parse_calibration(to_json(c), "test");
  EXPECT_EQ(back.device, kGpu.name);
  EXPECT_TRUE(back.kernels.at("cast.fp32_to_bf16").on_gpu);
  EXPECT_EQ(to_json(back), to_json(c));
}

// The host's processor, for example, to which the optimizer's work is offloaded.
TEST(GpuCalibration, SaysNothingOfOtherDevices) {
  const Calibration c = calibrate(measured({2e-6, 1.1, 1.4}), "gpu", "hash", &kGpu).calibration;
  const Cast op{.elements = 1 << 24, .from = DType::kFp32, .to = DType::kBf16};
  Device host = cpu();
  host.sms = 64;  // cores
  EXPECT_FALSE(fitted_cost(op, c, host));
}

// OpenBLAS has kernels of their own for small products, cuBLAS has not.
TEST(GpuCalibration, SmallProductsAreNoClassOfTheirOwn) {
  EXPECT_EQ(kernel_class(MatMul{.m = 1, .n = 1, .k = 1}), "matmul.nt.bf16");
}

}  // namespace plait::gpu_features_test
