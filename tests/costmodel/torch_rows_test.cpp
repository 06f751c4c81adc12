// What eager PyTorch costs beyond bytes, beside steps and kernels that an H200 and an H100 showed
// (torch_row_fits_test.cpp has the kernels that constants are fitted to).
#include "costmodel/torch_rows.h"

#include <gtest/gtest.h>

#include "costmodel/costmodel.h"
#include "tests/costmodel/torch_measurements.h"

namespace plait::torch_rows_test {

double us(const Cost& cost) { return 1e6 * cost.total().value; }

// A step of four layers of Qwen3-30B-A3B in eight microbatches of 4,096 tokens: nine norms as wide
// as the hidden state and one of the queries' 32 heads and the keys' 4, which no fit has seen: rows
// of 128 elements, and so many that gradients of gamma are summed in two steps.
TEST(TorchRows, NormsOfHeadsInAStep) {
  for (const MeasuredGpu& gpu : measured_gpus()) {
    const double microbatches = 8, layers = 4;
    const auto step = [&](Pass pass) {
      const HeadNorm heads{pass, 4096, 32, 4, 128, 128};
      const Norm hidden{pass, NormKind::kRmsNorm, 4096, 2048};
      return microbatches * ((2 * layers + 1) * us(torch_norm_cost(hidden, gpu.device)) +
                             layers * us(torch_norm_cost(heads, gpu.device)));
    };
    double forward = 0, backward = 0;
    const nlohmann::json kernels = gpu.read("torch-kernels.json");
    for (const auto& row : kernels["qwen3-moe-4-layers"]) {
      const double all = row.value("all_us_per_step", 0.0);
      if (row["operator"] == "aten::_fused_rms_norm") forward += all;
      if (row["operator"] == "aten::_fused_rms_norm_backward") backward += all;
    }
    ASSERT_GT(forward, 0) << gpu.folder;
    EXPECT_NEAR(step(Pass::kForward), forward, 0.14 * forward) << gpu.folder;
    EXPECT_NEAR(step(Pass::kBackward), backward, 0.14 * backward) << gpu.folder;
  }
}

// Where nobody counted the multiprocessors the chain of kernels is priced by its bytes.
TEST(TorchRows, NeedTheNumberOfMultiprocessors) {
  Device device = find_device("h100-sxm");
  EXPECT_TRUE(has_torch_rows(device));
  device.sms = 0;
  EXPECT_FALSE(has_torch_rows(device));
  CostModel native;
  native.kernels.norm = Fusion::kNative;
  EXPECT_GT(us(native.compute(Norm{Pass::kForward, NormKind::kRmsNorm, 4096, 2048}, device)), 0);
}

TEST(TorchRows, GradientsOfGammaTakeLongerThanTheInputsAlone) {
  const Device device = find_device("h100-sxm");
  Norm norm{Pass::kInputGrad, NormKind::kLayerNorm, 8192, 4096};
  const double input = us(torch_norm_cost(norm, device));
  norm.pass = Pass::kBackward;
  EXPECT_GT(us(torch_norm_cost(norm, device)), input);
  norm.rows = 0;
  EXPECT_EQ(torch_norm_cost(norm, device).total().value, 0);
}

// More rows and wider ones never take less, but for the step where sums are cut in two.
TEST(TorchRows, MoreWorkNeverTakesLess) {
  const Device device = find_device("h100-sxm");
  for (const NormKind kind : {NormKind::kLayerNorm, NormKind::kRmsNorm}) {
    for (const Pass pass : {Pass::kForward, Pass::kInputGrad}) {
      for (std::int64_t width = 128; width <= 16384; width *= 2) {
        double last = 0;
        for (std::int64_t rows = 16; rows <= 1 << 18; rows *= 2) {
          const double now = us(torch_norm_cost(Norm{pass, kind, rows, width}, device));
          EXPECT_GT(now, last);
          EXPECT_GT(us(torch_norm_cost(Norm{pass, kind, rows, 2 * width}, device)), now);
          last = now;
        }
      }
    }
  }
}

// A bias whose gradient the product sums costs nothing beside it.
TEST(TorchRows, BiasesOfEagerLayersAreSummedApart) {
  const Device device = find_device("h100-sxm");
  CostModel fused, eager;
  eager.kernels.bias = Fusion::kEager;
  MatMul op{.pass = Pass::kWeightGrad, .layout = GemmLayout::kTN, .m = 4096, .n = 1024, .k = 8192};
  op.bias = true;
  const BiasGrad alone{op.k, op.m};
  const double apart = us(torch_bias_gradient_cost(alone, device));
  EXPECT_NEAR(us(eager.compute(op, device)), us(fused.compute(op, device)) + apart, 1e-6);
  EXPECT_NEAR(us(eager.compute(alone, device)), apart, 1e-6);
  op.pass = Pass::kForward;
  EXPECT_EQ(us(eager.compute(op, device)), us(fused.compute(op, device)));
}

TEST(TorchRows, EagerDropoutTakesWhatTwoGpusShowed) {
  for (const MeasuredGpu& gpu : measured_gpus()) {
    CostModel eager;
    eager.kernels.dropout = Fusion::kEager;
    Errors errors;
    gpu.for_each_row(
        "element_wise", [&](const auto& kernels, std::int64_t rows, std::int64_t width) {
          const Add op{Pass::kForward, rows, width, false, true};
          const double measured =
              kernel_us(kernels.at("dropout_forward"), 0) + kernel_us(kernels.at("add"), 0);
          errors.add(gpu.folder, us(eager.compute(op, gpu.device)) / measured, 0);
        });
    EXPECT_LT(errors.summaries().at(gpu.folder).mean, 0.08) << gpu.folder;
  }
}

// cuDNN's attention: what dropout adds was read off the last of three shapes, with heads of 128.
TEST(TorchRows, AttentionTakesLongerWithDropout) {
  for (const MeasuredGpu& gpu : measured_gpus()) {
    int judged = 0;
    const nlohmann::json ops = gpu.read("torch-ops.json");
    for (const auto& row : ops["rows"]) {
      if (!row.contains("dropout")) continue;
      const auto predicted = [&](Pass pass, bool dropout) {
        Attention op = attention_of(row, pass);
        op.dropout = dropout;
        return us(CostModel().compute(op, gpu.device));
      };
      const double forward = 1e3 * row["forward_ms"].get<double>();
      const double backward = 1e3 * row["backward_ms"].get<double>();
      EXPECT_NEAR(predicted(Pass::kForward, true), forward, 0.2 * forward) << row;
      EXPECT_NEAR(predicted(Pass::kBackward, true), backward, 0.3 * backward) << row;
      EXPECT_LT(predicted(Pass::kForward, false), 0.8 * forward) << row;
      ++judged;
    }
    EXPECT_EQ(judged, 3) << gpu.folder;
  }
}

}  // namespace plait::torch_rows_test
