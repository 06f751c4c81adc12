// Kernels on machines and by software that no constant was fitted to: the layers of Vidur's
// profiles (vLLM on A100, H100 and, of another type, A40), and square products of Azure's guide.
//   PLAIT_DATA=... costmodel_test --gtest_filter='KernelTransfer.*'
// prints the errors.

#include <gtest/gtest.h>

#include "costmodel/kernels.h"
#include "tests/costmodel/errors.h"
#include "tests/costmodel/vidur_layers.h"

namespace plait::kernel_transfer_test {

Device a40() { return gpu("a40", 86, 149.7e12, 696e9, 6, 1.9e-6, 84); }

struct Profiled {
  const char* name;
  Device device;
};
const std::vector<Profiled>& profiled() {
  static const std::vector<Profiled> devices = {{"a100", a100()}, {"h100", h100()}, {"a40", a40()}};
  return devices;
}

TEST(KernelTransfer, ProductsOfVidursLayers) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  Errors errors;
  for (const Profiled& p : profiled()) {
    for_each_layer(*folder, p.name, [&](const Record& r, const Layer& layer) {
      if (layer.tokens < 512) return;
      Seconds measured, predicted;
      double band = 0;
      for (const auto& [op, product] : layer.products()) {
        const Cost cost = CostModel{}.compute(product, p.device);
        errors.add(std::string(p.name) + ", products", cost.total() / time_of(r, op), cost.band);
        measured += time_of(r, op), predicted += cost.total(), band = cost.band;
      }
      errors.add(std::string(p.name) + ", sum over the layer", predicted / measured, band);
    });
  }
  errors.print();
  for (const auto& [what, e] : errors.summaries()) EXPECT_LE(e.mean, 0.17) << what;
}

TEST(KernelTransfer, SquareProductsOfAzuresGuide) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  Errors errors;
  for (const Record& r : read_table(*folder / "microbench_azure_ml-engineering.csv")) {
    if (r.at("bench") != "cublasLt square GEMM" || r.at("item") == "1024") continue;
    const bool fp8 = r.at("dtype") == "fp8";
    if (r.at("gpu") != "A100-80" && (r.at("gpu") != "H100" || !fp8)) continue;
    const std::int64_t n = std::stoll(r.at("item"));
    const MatMul op{.m = n, .n = n, .k = n, .in = fp8 ? DType::kFp8 : DType::kFp16};
    const Cost cost = gemm_cost(op, fp8 ? h100() : a100());  // repeated alone
    const double measured =
        (hardware_flops(op) / FlopsPerSecond(std::stod(r.at("value")) * 1e12)).value;
    errors.add(r.at("gpu") + " " + r.at("dtype") + ", squares", cost.total().value / measured,
               cost.band);
  }
  errors.print();
  for (const auto& [what, e] : errors.summaries()) EXPECT_LE(e.mean, 0.12) << what;
}

}  // namespace plait::kernel_transfer_test
