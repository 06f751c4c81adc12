// PyTorch's kernels over rows, beside what bench/gpu/torch_rows.py and torch_ops.py measured of them
// on an H200 and an H100, and torch_kernels.py in steps, to which nothing is fitted.
#include "costmodel/torch_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "costmodel/costmodel.h"
#include "topologies/catalogue.h"

namespace plait::torch_rows_test {

struct Gpu {
  const char* folder;
  const char* device;
};
constexpr Gpu kGpus[] = {{"h200", "h200-sxm"}, {"h100", "h100-sxm"}};

nlohmann::json read(const Gpu& gpu, const std::string& name) {
  std::ifstream in(std::string(PLAIT_SOURCE_DIR "/reports/gpu/") + gpu.folder + "/" + name);
  return nlohmann::json::parse(in);
}

/// Of a call's kernels the one at `place`, in microseconds, what sets memory left out.
double kernel_us(const nlohmann::json& kernels, std::size_t place) {
  std::vector<double> us;
  for (const auto& kernel : kernels)
    if (kernel[0] != "Memset") us.push_back(kernel[1]);
  return us.at(place);
}

class Errors {
 public:
  void add(double predicted, double measured) { logs_.push_back(std::log(predicted / measured)); }
  double mean() const {
    return std::accumulate(logs_.begin(), logs_.end(), 0.0,
                           [](double sum, double e) { return sum + std::abs(e); }) /
           count();
  }
  double bias() const { return std::accumulate(logs_.begin(), logs_.end(), 0.0) / count(); }
  double count() const { return static_cast<double>(logs_.size()); }

 private:
  std::vector<double> logs_;
};

double us(const Cost& cost) { return 1e6 * cost.total().value; }

/// Calls f(row of the op, rows, width).
template <class F>
void for_each_row(const Gpu& gpu, const std::string& op, F&& f) {
  const nlohmann::json all = read(gpu, "torch-rows.json");
  for (const auto& row : all["rows"])
    if (row["op"] == op) f(row["kernels_us"], row["rows"], row["width"]);
}

TEST(TorchRows, NormsTakeWhatTwoGpusShowed) {
  for (const Gpu& gpu : kGpus) {
    const Device device = find_device(gpu.device);
    for (const auto& [kind, name] :
         {std::pair{NormKind::kLayerNorm, "layer"}, std::pair{NormKind::kRmsNorm, "rms"}}) {
      Errors forward, input, parameters;
      const std::string key = name;
      for_each_row(gpu, "norm", [&](const auto& kernels, std::int64_t rows, std::int64_t width) {
        const auto predicted = [&](Pass pass) {
          return us(torch_norm_cost(Norm{pass, kind, rows, width}, device));
        };
        const double of_input = predicted(Pass::kInputGrad);
        forward.add(predicted(Pass::kForward), kernel_us(kernels.at(key + "_forward"), 0));
        input.add(of_input, kernel_us(kernels.at(key + "_backward"), 0));
        parameters.add(predicted(Pass::kBackward) - of_input,
                       kernel_us(kernels.at(key + "_backward"), 1));
      });
      ASSERT_EQ(forward.count(), 9);
      EXPECT_LT(forward.mean(), 0.06) << gpu.folder << name;
      EXPECT_LT(input.mean(), 0.05) << gpu.folder << name;
      EXPECT_LT(parameters.mean(), 0.08) << gpu.folder << name;
      EXPECT_LT(std::abs(forward.bias()), 0.06) << gpu.folder << name;
    }
  }
}

TEST(TorchRows, SumsOverRowsTakeWhatTwoGpusShowed) {
  for (const Gpu& gpu : kGpus) {
    const Device device = find_device(gpu.device);
    Errors sums;
    for_each_row(
        gpu, "element_wise", [&](const auto& kernels, std::int64_t rows, std::int64_t width) {
          const double with_earlier = 1.3;  // the kernel that adds the gradient to the sum
          sums.add(us(torch_bias_gradient_cost(rows, width, DType::kBf16, device)) - with_earlier,
                   kernel_us(kernels.at("sum_of_rows"), 0));
        });
    ASSERT_EQ(sums.count(), 8);
    EXPECT_LT(sums.mean(), 0.08) << gpu.folder;
  }
}

// A step of four layers of Qwen3-30B-A3B in eight microbatches of 4,096 tokens: nine norms as wide as
// the hidden state and one of the queries' 32 heads and the keys' 4, which no fit has seen: rows of
// 128 elements, and so many that gradients of gamma are summed in two steps.
TEST(TorchRows, NormsOfHeadsInAStep) {
  for (const Gpu& gpu : kGpus) {
    const Device device = find_device(gpu.device);
    const double microbatches = 8, layers = 4;
    const auto step = [&](Pass pass) {
      const HeadNorm heads{pass, 4096, 32, 4, 128, 128};
      const Norm hidden{pass, NormKind::kRmsNorm, 4096, 2048};
      return microbatches * ((2 * layers + 1) * us(torch_norm_cost(hidden, device)) +
                             layers * us(torch_norm_cost(heads, device)));
    };
    double forward = 0, backward = 0;
    const nlohmann::json kernels = read(gpu, "torch-kernels.json");
    for (const auto& row : kernels["qwen3-moe-4-layers"]) {
      const std::string op = row["operator"];
      const double all = row.value("all_us_per_step", 0.0);
      if (op == "aten::_fused_rms_norm") forward += all;
      if (op == "aten::_fused_rms_norm_backward") backward += all;
    }
    ASSERT_GT(forward, 0) << gpu.folder;
    EXPECT_NEAR(step(Pass::kForward), forward, 0.14 * forward) << gpu.folder;
    EXPECT_NEAR(step(Pass::kBackward), backward, 0.14 * backward) << gpu.folder;
  }
}

// Where nobody counted the multiprocessors the chain of kernels is priced by its bytes, as before.
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
  EXPECT_EQ(torch_norm_cost(Norm{}, device).total().value, 0) << "no rows";
}

// A bias whose gradient the product sums costs nothing beside it.
TEST(TorchRows, BiasesOfEagerLayersAreSummedApart) {
  const Device device = find_device("h100-sxm");
  CostModel fused, eager;
  eager.kernels.bias = Fusion::kEager;
  MatMul op{.pass = Pass::kWeightGrad, .layout = GemmLayout::kTN, .m = 4096, .n = 1024, .k = 8192};
  op.bias = true;
  const double apart = us(torch_bias_gradient_cost(op.k, op.m, op.in, device));
  EXPECT_NEAR(us(eager.compute(op, device)), us(fused.compute(op, device)) + apart, 1e-6);
  const BiasGrad alone{8192, 4096};
  EXPECT_NEAR(us(eager.compute(alone, device)), apart, 1e-6);
  op.pass = Pass::kForward;
  EXPECT_EQ(us(eager.compute(op, device)), us(fused.compute(op, device)));
}

TEST(TorchRows, EagerDropoutTakesWhatTwoGpusShowed) {
  for (const Gpu& gpu : kGpus) {
    const Device device = find_device(gpu.device);
    CostModel eager;
    eager.kernels.dropout = Fusion::kEager;
    Errors errors;
    for_each_row(
        gpu, "element_wise", [&](const auto& kernels, std::int64_t rows, std::int64_t width) {
          Add op{Pass::kForward, rows, width, false, true};
          const double measured =
              kernel_us(kernels.at("dropout_forward"), 0) + kernel_us(kernels.at("add"), 0);
          errors.add(us(eager.compute(op, device)), measured);
        });
    EXPECT_LT(errors.mean(), 0.08) << gpu.folder;
  }
}

// cuDNN's attention: what dropout adds was read off the first of three shapes, with heads of 128.
TEST(TorchRows, AttentionTakesLongerWithDropout) {
  for (const Gpu& gpu : kGpus) {
    const Device device = find_device(gpu.device);
    int judged = 0;
    const nlohmann::json ops = read(gpu, "torch-ops.json");
    for (const auto& row : ops["rows"]) {
      if (!row.contains("dropout")) continue;
      const auto predicted = [&](Pass pass, bool dropout) {
        const Attention op{.pass = pass,
                           .batch = row["batch"],
                           .heads = row["heads"],
                           .kv_heads = row["kv_heads"],
                           .seq_q = row["sequence"],
                           .seq_kv = row["sequence"],
                           .head_dim = row["head_dim"],
                           .dropout = dropout};
        return us(CostModel().compute(op, device));
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
