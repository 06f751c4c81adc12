// Steps of llama.cpp with quantised weights, from one token to the micro-batches of prompts: the
// constants of costmodel/llama_cpp_products.cpp are fitted to the rows of 2026 on one card and
// predict the other; older releases were slower.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "model/weight_format.h"
#include "serving/step_costs.h"
#include "tests/serving/served.h"

namespace plait::llama_cpp_steps_test {

WeightFormat format(const std::string& name) {
  for (const WeightFormatFacts& f : weight_formats::kTable)
    if (f.name == name) return f.format;
  throw std::invalid_argument(name);
}

double tokens_per_second(const std::string& device, const std::string& weights,
                         std::int64_t tokens) {
  ServedModel s = served();
  ClusterSpec spec;
  spec.preset = "pcie-8", spec.devices_per_node = 1, spec.device = find_device(device);
  s.cluster = make_cluster(spec);
  s.precision.activations = s.precision.kv_cache = DType::kFp16;
  s.precision.weights = format(weights), s.precision.fused_elementwise = false;
  const Step step{{1, tokens, tokens}, {}, 1};
  return static_cast<double>(tokens) / to_seconds(time_step(s, step).total()).value;
}

struct Errors {
  int n = 0;
  double sum = 0, magnitude = 0, worst = 0;
  void add(double error) {
    ++n, sum += error, magnitude += std::abs(error), worst = std::max(worst, std::abs(error));
  }
  double mean() const { return magnitude / n; }
  double bias() const { return sum / n; }
};

nlohmann::json published() {
  std::ifstream in(PLAIT_SOURCE_DIR "/tests/serving/published/llama-steps.json");
  return nlohmann::json::parse(in);
}

/// By pull request and device.
std::map<std::pair<int, std::string>, Errors> errors() {
  std::map<std::pair<int, std::string>, Errors> out;
  const nlohmann::json file = published();
  for (const auto& row : file.at("rows")) {
    const std::string device = row["device"], weights = row["weights"];
    for (const auto& point : row["tokens_per_second"]) {
      const double predicted = tokens_per_second(device, weights, point[0]);
      const double error = point[1].get<double>() / predicted - 1;  // of the time
      fmt::print("{} {} {:7} {:5}: {:8.1f} tokens/s, measured {:8.1f}, time {:+5.1f} %\n",
                 row["pull_request"].get<int>(), device, weights, point[0].get<std::int64_t>(),
                 predicted, point[1].get<double>(), 100 * error);
      out[{row["pull_request"], device}].add(error);
    }
  }
  return out;
}

TEST(LlamaCppSteps, AreNearThoseOfTheReleaseThatIsMeant) {
  const auto by = errors();
  for (const auto& [key, e] : by) {
    fmt::print("{} {}: n {}, mean {:.1f} %, bias {:+.1f} %, worst {:.1f} %\n", key.first,
               key.second, e.n, 100 * e.mean(), 100 * e.bias(), 100 * e.worst);
  }
  EXPECT_LT(by.at({24127, "rtx-4090"}).mean(), 0.05);
  EXPECT_LT(by.at({24127, "rtx-5090"}).mean(), 0.05);
  EXPECT_LT(by.at({22298, "rtx-4090"}).mean(), 0.06);
  EXPECT_LT(by.at({24127, "rtx-3090"}).mean(), 0.12) << "not fitted";
}

// Tiles follow the rows by eights: no step of a token more costs a third more, but where dot
// products end.
TEST(LlamaCppSteps, NoTokenMoreCostsAThird) {
  const auto seconds = [](std::int64_t tokens) {
    return static_cast<double>(tokens) / tokens_per_second("rtx-3090", "q4_k", tokens);
  };
  for (const std::int64_t tokens : {16, 32, 64, 96, 128, 256, 512}) {
    EXPECT_LT(seconds(tokens + 1), 1.15 * seconds(tokens)) << tokens;
    EXPECT_GE(seconds(tokens + 1), seconds(tokens)) << tokens;
  }
}

// Bytes unpacked and scaled keep multiprocessors busy, not matrix units: H100 and A100 have fewer
// clocks than an RTX 4090.
TEST(LlamaCppSteps, AreNotFasterOnMatrixUnitsOfDataCentres) {
  const double ada = tokens_per_second("rtx-4090", "q4_k", 512);
  EXPECT_LT(tokens_per_second("h100-pcie", "q4_k", 512), ada);
  EXPECT_LT(tokens_per_second("a100-80-pcie", "q4_k", 512), 0.6 * ada);
  EXPECT_NEAR(tokens_per_second("rtx-a6000", "q4_k", 512),
              tokens_per_second("rtx-3090", "q4_k", 512),
              0.15 * tokens_per_second("rtx-3090", "q4_k", 512))
      << "the same chip";
}

}  // namespace plait::llama_cpp_steps_test
