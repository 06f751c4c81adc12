// A few hundred measured products of a GPU tell the others.
//   PLAIT_DATA=... costmodel_test --gtest_filter='CalibratedProducts.*'
// prints the errors.

#include <gtest/gtest.h>

#include <random>

#include "costmodel/costmodel.h"
#include "costmodel/fit/calibrate.h"
#include "tests/costmodel/errors.h"
#include "tests/costmodel/measured_kernels.h"
#include "tests/costmodel/vidur_layers.h"

namespace plait::calibrated_products_test {

/// Of 357 rows `calibrate` fits 250 and judges the others.
constexpr std::size_t kMeasured = 357;

Row run_row() {
  RunRow run;
  run.bench = "compute", run.processor = "GPU", run.cores = 1, run.quiet = "quiet";
  return run;
}
Row kernel_row(const GemmRow& row) {
  KernelRow out;
  out.op = row.op;
  out.cpu.median = row.time.value;
  return out;
}

/// Some of the rows, as one who calibrates would measure them; the others judge.
struct Visit {
  std::vector<Row> measured = {run_row()};
  std::vector<GemmRow> others;
};
Visit visit(std::vector<GemmRow> rows) {
  std::ranges::shuffle(rows, std::mt19937_64(1));
  Visit out;
  for (const GemmRow& row : rows) {
    if (out.measured.size() <= kMeasured) {
      out.measured.push_back(kernel_row(row));
    } else {
      out.others.push_back(row);
    }
  }
  return out;
}

void judge(const std::string& name, const Device& device, const std::vector<GemmRow>& rows,
           Errors& errors) {
  const Visit there = visit(rows);
  const auto costs_of = [](Calibration calibration) {
    calibration.in_steps = true;  // the others are as these, repeated alone
    CostModel costs;
    costs.calibration = std::make_shared<const Calibration>(calibration);
    return costs;
  };
  Calibration of_features = calibrate(there.measured, "gpu", "hash").calibration;
  const CostModel model, features = costs_of(of_features);
  for (auto& [name_of_class, fit] : of_features.kernels) fit.missed = {};
  const CostModel sums = costs_of(of_features);
  const CostModel factor = costs_of(calibrate(there.measured, "gpu", "hash", &device).calibration);
  for (const GemmRow& row : there.others) {
    for (const auto& [how, costs] :
         {std::pair("1 data sheet", &model), std::pair("2 features alone", &sums),
          std::pair("3 features", &features), std::pair("4 factor of the model", &factor)}) {
      const Cost cost = costs->compute(row.op, device);
      errors.add(fmt::format("{} {}", name, how), cost.total() / row.time, cost.band);
    }
  }
}

TEST(CalibratedProducts, OfTheTables) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  Errors errors;
  for (const MeasuredMachine& machine : machines()) {
    std::vector<GemmRow> rows = gemm_rows(machine, DType::kBf16, *folder);
    std::erase_if(rows, [](const GemmRow& r) { return std::min(r.op.n, r.op.k) < 1024; });
    judge(machine.name, machine.device, rows, errors);
  }
  errors.print();
  const auto all = errors.summaries();
  for (const MeasuredMachine& machine : machines()) {
    const auto mean = [&](const char* how) {
      return all.at(fmt::format("{} {}", machine.name, how)).mean;
    };
    EXPECT_LE(mean("3 features"), 0.085) << machine.name;
    EXPECT_LE(mean("4 factor of the model"), 0.055) << machine.name;
  }
}

// Other machines and another engine: what constants cannot know.
TEST(CalibratedProducts, OfVidursMachines) {
  const auto folder = kernel_data();
  if (!folder) GTEST_SKIP() << kSkip;
  Errors errors;
  for (const auto& [name, device] : {std::pair("a100", a100()), std::pair("h100", h100())}) {
    std::vector<GemmRow> rows;
    for_each_layer(*folder, name, [&](const Record& r, const Layer& layer) {
      for (const auto& [op, product] : layer.products()) rows.push_back({product, time_of(r, op)});
    });
    const auto size = [](const GemmRow& r) { return std::tuple(r.op.m, r.op.n, r.op.k); };
    std::ranges::stable_sort(rows, {}, size);  // models share shapes: one of each
    const auto same = [&](const auto& a, const auto& b) { return size(a) == size(b); };
    rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
    judge(fmt::format("Vidur {}", name), device, rows, errors);
  }
  errors.print();
  for (const auto& [what, e] : errors.summaries()) {
    if (what.ends_with("data sheet") || what.ends_with("alone")) continue;
    EXPECT_LE(e.mean, 0.1) << what;
  }
}

}  // namespace plait::calibrated_products_test
