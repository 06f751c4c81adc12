// A measured grid of products as a correction of the model.
//   PLAIT_DATA=... costmodel_test --gtest_filter='GemmTable.*'
// prints the errors off the grid.

#include "costmodel/gemm_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/costmodel/errors.h"
#include "tests/costmodel/measured_kernels.h"

namespace plait::gemm_table_test {

MatMul product(std::int64_t m, std::int64_t n, std::int64_t k) { return {.m = m, .n = n, .k = k}; }
Seconds model_time(double m, double n, double k) {
  const auto size = [](double x) { return static_cast<std::int64_t>(x); };
  return CostModel{}.compute(product(size(m), size(n), size(k)), h100()).total();
}
/// A machine whose products take m^a n^b k^c as long as predicted: its residual is linear.
GemmTable power_law(double a, double b, double c) {
  return gemm_table(
      {64, 512, 4096}, {1024, 8192}, {1024, 2048, 8192},
      [&](double m, double n, double k) {
        const double slower = std::pow(m, a) * std::pow(n, b) * std::pow(k, c);
        return model_time(m, n, k) * slower;
      },
      model_time);
}

TEST(GemmTable, IsExactWhereTheResidualIsAPowerLaw) {
  const GemmTable table = power_law(0.1, -0.05, 0.02);
  const auto expected = [](double m, double n, double k) {
    return std::pow(m, 0.1) * std::pow(n, -0.05) * std::pow(k, 0.02);
  };
  EXPECT_NEAR(table.factor(product(512, 1024, 2048)), expected(512, 1024, 2048), 1e-12);
  EXPECT_NEAR(table.factor(product(1000, 3000, 5000)), expected(1000, 3000, 5000), 1e-12);
}

TEST(GemmTable, OutsideOfTheGridItIsThatOfTheSurface) {
  const GemmTable table = power_law(0.1, -0.05, 0.02);
  EXPECT_EQ(table.factor(product(1, 3000, 100000)), table.factor(product(64, 3000, 8192)));
  const Cost cost = CostModel{}.compute(product(1, 3000, 4096), h100());
  EXPECT_EQ(corrected(cost, product(1, 3000, 4096), table).provenance, Provenance::kExtrapolated);
  EXPECT_EQ(corrected(cost, product(64, 3000, 4096), table).provenance, Provenance::kMeasured);
}

TEST(GemmTable, OfOnePointIsAScale) {
  const GemmTable table = gemm_table(
      {512}, {1024}, {1024}, [](double m, double n, double k) { return model_time(m, n, k) * 1.1; },
      model_time);
  EXPECT_NEAR(table.factor(product(8192, 64, 333)), 1.1, 1e-12);
}

// 250 products: less than a minute of measuring.
TEST(GemmTable, Of250PointsPredictsTheOthers) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  const std::vector<double> sides = {1024, 2048, 4096, 8192, 16384};
  const std::vector<double> tokens = {1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 16384};
  const auto on = [](const std::vector<double>& axis, std::int64_t x) {
    return std::ranges::find(axis, static_cast<double>(x)) != axis.end();
  };
  Errors errors;
  for (const MeasuredMachine& machine : machines()) {
    std::map<std::tuple<double, double, double>, Seconds> times;
    const std::vector<GemmRow> rows = gemm_rows(machine, DType::kBf16, *folder);
    for (const GemmRow& r : rows)
      times[{static_cast<double>(r.op.m), static_cast<double>(r.op.n),
             static_cast<double>(r.op.k)}] = r.time;
    const auto predicted = [&](const MatMul& op) {
      return CostModel{}.compute(op, machine.device);
    };
    const GemmTable table = gemm_table(
        tokens, sides, sides,
        [&](double m, double n, double k) {
          return times.at({m, n, k});
        },
        [&](double m, double n, double k) {
          return predicted(product(static_cast<std::int64_t>(m), static_cast<std::int64_t>(n),
                                   static_cast<std::int64_t>(k)))
              .total();
        });
    for (const GemmRow& r : rows) {
      if (std::min(r.op.n, r.op.k) < 1024) continue;
      if (on(tokens, r.op.m) && on(sides, r.op.n) && on(sides, r.op.k)) continue;
      const Cost model = predicted(r.op), with = corrected(model, r.op, table);
      const bool beyond = with.provenance == Provenance::kExtrapolated;
      const std::string what =
          fmt::format("{} {}", machine.name, beyond ? "beyond the grid" : "within");
      errors.add(what + ", model", model.total() / r.time, model.band);
      errors.add(what + ", with table", with.total() / r.time, model.band);
    }
  }
  errors.print();
  for (const auto& [what, e] : errors.summaries()) {
    if (what.ends_with("with table")) {
      EXPECT_LE(e.mean, 0.06) << what;
    }
  }
}

}  // namespace plait::gemm_table_test
