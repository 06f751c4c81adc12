// Predictions against published measurements that are too large to keep here: AIConfigurator's
// tables under $PLAIT_DATA/kernels/aiconfigurator. Without them the tests skip.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "tests/costmodel/measured_collectives.h"

namespace plait {
namespace {

void report(const std::string& what, const std::vector<double>& errors, double bound) {
  const double error = median(errors);
  std::cout << what << ": median |log(predicted/measured)| " << error << " over " << errors.size()
            << " rows\n";
  EXPECT_GT(errors.size(), 50U) << what;
  EXPECT_LT(error, bound) << what;
}

void compare_products(const Machine& machine, const std::filesystem::path& folder) {
  std::vector<double> errors;
  for (const auto& table :
       tables(folder / "aiconfigurator" / machine.folder, "gemm_perf__trtllm")) {
    for (const Record& r : read_table(table)) {
      if (r.at("gemm_dtype") != "bfloat16") continue;
      MatMul op;
      op.m = std::stoll(r.at("m"));
      op.n = std::stoll(r.at("n"));
      op.k = std::stoll(r.at("k"));
      if (op.m < 512 || op.n < 1024 || op.k < 1024) continue;  // the sizes of training
      const Seconds t = CostModel{}.compute(op, machine.device).total();
      errors.push_back(std::abs(std::log(t.value * 1e6 / std::stod(r.at("latency_us")))));
    }
  }
  report(std::string(machine.folder) + " bf16 products, m >= 512", errors, 0.12);
}

TEST(Published, Products) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  for (const Machine& machine : machines()) compare_products(machine, *folder);
}

}  // namespace
}  // namespace plait
