// Kernels on machines and by software that no constant was fitted to: the layers of Vidur's
// profiles (vLLM on A100, H100 and, of another type, A40), and square products of Azure's guide.
//   PLAIT_DATA=... costmodel_test --gtest_filter='KernelTransfer.*'
// prints the errors.

#include <gtest/gtest.h>

#include "costmodel/kernels.h"
#include "tests/costmodel/errors.h"
#include "tests/costmodel/measured_kernels.h"

namespace plait {
namespace {

Device a40() { return gpu("a40", 86, 149.7e12, 696e9, 6, 1.9e-6, 84); }

/// A layer of one model on one rank of tensor parallelism, as Vidur profiles it.
struct Layer {
  std::int64_t tokens, width, query, key, hidden;
  bool gated;
  explicit Layer(const Record& r) {
    const auto number = [&](const char* field) { return std::stoll(r.at(field)); };
    const std::int64_t ranks = number("num_tensor_parallel_workers");
    tokens = number("num_tokens"), width = number("n_embd");
    const std::int64_t head = width / number("n_head");
    query = number("n_head") / ranks * head;
    key = std::max<std::int64_t>(number("n_kv_head") / ranks, 1) * head;
    hidden = number("n_expanded_embd") / ranks;
    gated = r.at("use_gated_mlp") == "True";
  }
  std::map<std::string, MatMul> products() const {
    const auto y = [&](std::int64_t n, std::int64_t k) {
      return MatMul{.m = tokens, .n = n, .k = k};
    };
    return {{"attn_pre_proj", y(query + 2 * key, width)},
            {"attn_post_proj", y(width, query)},
            {"mlp_up_proj", y((gated ? 2 : 1) * hidden, width)},
            {"mlp_down_proj", y(width, hidden)}};
  }
  /// Of those kernels that training runs too.
  std::map<std::string, Compute> streams() const {
    return {{"add", Add{.rows = tokens, .width = width}},
            {"attn_rope", Rope{.rows = tokens, .width = query + key}},
            {"emb", Embedding{.rows = tokens, .width = width, .vocab = 1 << 30}}};
  }
};

Seconds time_of(const Record& r, const std::string& op) {
  const std::string text = r.at("time_stats." + op + ".median");
  return Seconds(text.empty() ? 0 : std::stod(text) * 1e-3);
}

struct Profiled {
  const char* name;
  Device device;
};
const std::vector<Profiled>& profiled() {
  static const std::vector<Profiled> devices = {{"a100", a100()}, {"h100", h100()}, {"a40", a40()}};
  return devices;
}

void for_each_layer(const std::filesystem::path& kernels, const Profiled& p, auto&& visit) {
  for (const auto& table : tables(kernels / "vidur", std::string("compute@") + p.name + "@"))
    for (const Record& r : read_table(table)) visit(r, Layer(r));
}

TEST(KernelTransfer, ProductsOfVidursLayers) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  Errors errors;
  for (const Profiled& p : profiled()) {
    for_each_layer(*folder, p, [&](const Record& r, const Layer& layer) {
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

TEST(KernelTransfer, StreamsOfVidursLayers) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  Errors errors;
  for (const Profiled& p : profiled()) {
    for_each_layer(*folder, p, [&](const Record& r, const Layer& layer) {
      for (const auto& [op, stream] : layer.streams()) {
        const Seconds measured = time_of(r, op);
        if (measured.value <= 0) continue;
        const Cost cost = CostModel{}.compute(stream, p.device);
        errors.add(std::string(p.name) + ", " + op, cost.total() / measured, cost.band);
      }
    });
  }
  errors.print();
}

}  // namespace
}  // namespace plait
