// The fit is given times that follow from known coefficients, and has to find these.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <random>

#include "core/error.h"
#include "core/sha256.h"
#include "costmodel/costmodel.h"
#include "costmodel/fit/calibrate.h"
#include "costmodel/fit/linear.h"
#include "costmodel/kernel_features.h"
#include "model/op_json.h"
#include "tests/costmodel/devices.h"

namespace plait::calibration_fit_test {

std::int64_t log_uniform(std::mt19937_64& random, double from, double to) {
  const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
  return static_cast<std::int64_t>(std::exp2(from + (to - from) * unit));
}

/// One of two values with equal probability, so that its mean |.| is exactly `noise`.
double noise_of(std::mt19937_64& random, double noise) {
  return random() % 2 == 0 ? noise : -noise;
}

/// Times of matrix products of random shapes: seconds = sum of coefficients times features.
std::vector<FitRow> products(const std::vector<double>& coefficients, int rows, double noise) {
  std::mt19937_64 random(1);
  std::vector<FitRow> out;
  for (int i = 0; i < rows; ++i) {
    const MatMul op{.m = log_uniform(random, 5, 12),
                    .n = log_uniform(random, 6, 11),
                    .k = log_uniform(random, 6, 11),
                    .in = DType::kFp32,
                    .accumulate = random() % 2 == 0};
    const std::vector<double> features = kernel_features(op);
    const double exact = predicted_seconds(coefficients, features);
    out.push_back({features, exact * std::exp(noise_of(random, noise))});
  }
  return out;
}

// Seconds per call, per multiply-add, per element of each matrix: about those of a core.
const std::vector<double> kPlanted = {2e-6, 1.4e-11, 8e-10, 3e-10, 5e-10, 0, 2e-10};

TEST(Fit, FindsPlantedCoefficients) {
  const std::vector<double> found = fit_nonnegative(products(kPlanted, 60, 0));
  ASSERT_EQ(found.size(), kPlanted.size());
  for (std::size_t j = 0; j < found.size(); ++j) {
    EXPECT_NEAR(found[j], kPlanted[j], 1e-4 * kPlanted[j]) << "feature " << j;
  }
}

// What is known is taken off, whatever share of the time it is.
TEST(Fit, FindsWhatIsLeftBesideAKnownPart) {
  std::vector<FitRow> rows = products(kPlanted, 60, 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].known = rows[i].seconds * static_cast<double>(i % 5);
    rows[i].seconds += rows[i].known;
  }
  const std::vector<double> found = fit_nonnegative(rows);
  for (const FitRow& row : rows) EXPECT_NEAR(log_error(found, row), 0, 1e-5);
  EXPECT_NEAR(found[0], kPlanted[0], 1e-3 * kPlanted[0]);
}

TEST(Fit, FindsThatAFeatureCostsNothing) {
  std::vector<double> planted = kPlanted;
  planted[3] = 0;
  const std::vector<FitRow> rows = products(planted, 60, 0);
  const std::vector<double> found = fit_nonnegative(rows);
  for (const FitRow& row : rows) {
    EXPECT_LT(found[3] * row.features[3], 1e-3 * row.seconds);
    EXPECT_NEAR(log_error(found, row), 0, 1e-3);
  }
}

TEST(Fit, NoCoefficientIsNegativeWhateverTheTimes) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<FitRow> rows;
    for (int i = 0; i < 12; ++i) {
      rows.push_back(
          {{1, static_cast<double>(1 + random() % 100), static_cast<double>(random() % 9)},
           1e-6 * static_cast<double>(1 + random() % 1000)});
    }
    for (double c : fit_nonnegative(rows)) {
      EXPECT_GE(c, 0);
      EXPECT_TRUE(std::isfinite(c));
    }
  }
}

/// A factor too long and the same factor too short count the same: between t and 4 t lies 2 t.
TEST(Fit, CountsFactorsNotDifferences) {
  const std::vector<double> found = fit_nonnegative({{{1}, 1e-3}, {{1}, 4e-3}});
  EXPECT_NEAR(found[0], 2e-3, 1e-9);
}

TEST(Fit, FewerRowsThanFeaturesAreFittedExactly) {
  const std::vector<FitRow> rows = products(kPlanted, 2, 0);
  const std::vector<double> found = fit_nonnegative(rows);
  for (const FitRow& row : rows) EXPECT_NEAR(log_error(found, row), 0, 1e-6);
}

/// Values of a function at four places, of which rows know the first, the second and the last.
TEST(Fit, APlaceThatNoRowKnowsIsBetweenItsNeighbours) {
  std::vector<FitRow> rows;
  for (int i = 1; i <= 10; ++i) {
    rows.push_back({{1, 100.0 * i, 0, 0, 0}, 1e-9 + 1e-9 * 100 * i});
    rows.push_back({{1, 0, 100.0 * i, 0, 0}, 1e-9 + 2e-9 * 100 * i});
    rows.push_back({{1, 0, 0, 0, 100.0 * i}, 1e-9 + 8e-9 * 100 * i});
  }
  const std::vector<double> found = fit_nonnegative(rows, {1, 5});
  // With one place between them the penalty is least at the geometric mean.
  EXPECT_NEAR(found[3] / std::sqrt(found[2] * found[4]), 1, 1e-3);
  // 30 rows hold their own against three pairs.
  EXPECT_NEAR(found[1], 1e-9, 0.02e-9);
  EXPECT_NEAR(found[2], 2e-9, 0.04e-9);
  EXPECT_NEAR(found[4], 8e-9, 0.16e-9);
  EXPECT_EQ(fit_nonnegative(rows)[3], 0) << "without smoothness";
}

TEST(Fit, TheOrderOfRowsChangesNothingThatCanBeSeen) {
  std::vector<FitRow> rows = products(kPlanted, 40, 0.03);
  const std::vector<double> there = fit_nonnegative(rows);
  std::ranges::reverse(rows);
  const std::vector<double> back = fit_nonnegative(rows);
  for (const FitRow& row : rows) {
    EXPECT_NEAR(log_error(there, row), log_error(back, row), 1e-4);
  }
}

// ---- whole files

RunRow some_run(const std::string& processor = "cpu") {
  RunRow run;
  run.bench = "compute", run.processor = processor, run.cores = 2, run.quiet = "quiet";
  run.date = "2026-01-02T03:04:05Z";
  return run;
}

KernelRow timed(const Compute& op, double seconds) {
  KernelRow row;
  row.op = op;
  row.cpu.median = row.cpu.p10 = row.cpu.p90 = seconds;
  row.wall.median = 7 * seconds;  // somebody else was running
  return row;
}

/// Norms and fills whose times follow from (fixed, per row, per element), with noise.
std::vector<Row> synthetic(double noise) {
  std::mt19937_64 random(3);
  std::vector<Row> rows = {some_run()};
  for (int i = 0; i < 100; ++i) {
    const Norm norm{Pass::kForward, NormKind::kLayerNorm, log_uniform(random, 5, 12),
                    log_uniform(random, 6, 11), DType::kFp32};
    const auto r = static_cast<double>(norm.rows), w = static_cast<double>(norm.width);
    const double exact = 1e-7 + 2e-8 * r + 3e-10 * r * w;
    rows.push_back(timed(norm, exact * std::exp(noise_of(random, noise))));
    const Fill fill{log_uniform(random, 8, 22), DType::kFp32};
    rows.push_back(timed(fill, (1e-7 + 1e-10 * static_cast<double>(fill.elements)) *
                                   std::exp(noise_of(random, noise))));
  }
  return rows;
}

TEST(Calibrate, TheHeldOutErrorIsTheNoise) {
  constexpr double kNoise = 0.03;
  const CalibrationResult result = calibrate(synthetic(kNoise), "box", "hash");
  ASSERT_EQ(result.quality.size(), 2U);
  for (const FitQuality& q : result.quality) {
    EXPECT_EQ(q.fitted_rows, 70);
    EXPECT_EQ(q.held_out_rows, 30);
    // 70 rows fix three coefficients to about a fifth of the noise.
    EXPECT_NEAR(q.held_out_error, kNoise, 0.2 * kNoise) << q.name;
    EXPECT_FALSE(q.worst.empty());
    EXPECT_GE(q.worst_error, q.held_out_error);
  }
}

TEST(Calibrate, ACalibrationPredictsWhatWasMeasured) {
  CostModel model;
  model.calibration =
      std::make_shared<const Calibration>(calibrate(synthetic(0), "box", "hash").calibration);
  const Norm norm{Pass::kForward, NormKind::kLayerNorm, 500, 300, DType::kFp32};
  const Cost cost = model.compute(norm, h100());
  const double expected = 1e-7 + 2e-8 * 500 + 3e-10 * 500 * 300;
  EXPECT_NEAR(cost.total().value, expected, 1e-3 * expected);
  EXPECT_EQ(cost.provenance, Provenance::kFitted);
}

TEST(Calibrate, SaysWhereItComesFrom) {
  const Calibration c = calibrate(synthetic(0), "box", "hash").calibration;
  EXPECT_EQ(c.name, "box");
  EXPECT_EQ(c.raw_sha256, "hash");
  EXPECT_EQ(c.date, some_run().date);
  EXPECT_EQ(c.cores, 2);
  EXPECT_NE(c.machine.find("cpu"), std::string::npos);
}

TEST(Calibrate, ShapesStayOnTheirSideInAnyOrder) {
  std::vector<Row> rows = synthetic(0.02);
  const std::string there = to_json(calibrate(rows, "box", "hash").calibration);
  std::reverse(rows.begin() + 1, rows.end());
  EXPECT_EQ(to_json(calibrate(rows, "box", "hash").calibration), there);
}

TEST(Calibrate, NoisyMachinesAreNamed) {
  std::vector<Row> rows = synthetic(0);
  std::get<RunRow>(rows[0]).quiet = "noisy: 12 % stolen";
  const Warnings warnings = calibrate(rows, "box", "hash").warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].text.find("12 % stolen"), std::string::npos);
}

// Products at half the peak: in seconds, in milliseconds, and a thousand times too short.
TEST(Calibrate, TimesInAnotherUnitAreNamed) {
  const Device gpu = h100();
  const auto said = [&](double unit) {
    std::vector<Row> rows = {some_run()};
    for (const std::int64_t m : {1024, 2048, 4096, 8192}) {
      const MatMul op{.m = m, .n = 8192, .k = 8192};
      const double seconds = 2.0 * static_cast<double>(m) * 8192 * 8192 / (gpu.peak_bf16.value / 2);
      rows.push_back(timed(op, seconds * unit));
    }
    Warnings out = calibrate(rows, "box", "hash", &gpu).warnings;
    std::erase_if(out, [](const Warning& w) { return w.code != "W028"; });
    return out.empty() ? "" : printed(out.front()).substr(0, 22);
  };
  EXPECT_EQ(said(1), "");
  EXPECT_EQ(said(1e3), "W028: 4 of 4 kernels t");
  EXPECT_EQ(said(1e-3), "W028: 4 of 4 kernels t");
}

/// What is said by a code, up to where numbers begin to differ.
std::vector<std::string> said_by(const std::string& code, const std::vector<Row>& rows,
                                 const Device& gpu) {
  Warnings out = calibrate(rows, "box", "hash", &gpu).warnings;
  std::erase_if(out, [&](const Warning& w) { return w.code != code; });
  return printed(out);
}

/// Products of m rows at so many times the peak of an H100.
std::vector<Row> products_at(double share) {
  std::vector<Row> rows = {some_run()};
  for (const std::int64_t m : {1024, 2048, 4096, 8192}) {
    const MatMul op{.m = m, .n = 8192, .k = 8192};
    const double work = 2.0 * static_cast<double>(m) * 8192 * 8192;
    rows.push_back(timed(op, work / (share * h100().peak_bf16.value)));
  }
  return rows;
}

TEST(Calibrate, ProductsFasterThanThePeakAreNamed) {
  EXPECT_TRUE(said_by("W032", products_at(0.9), h100()).empty());
  const auto said = said_by("W032", products_at(1.1), h100());
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(said[0].starts_with("W032: 4 of 4 kernels are faster than the dense peak of"))
      << said[0];
}

TEST(Calibrate, MeasurementsOfOneOpThatContradictEachOtherAreNamed) {
  std::vector<Row> rows = products_at(0.5);
  KernelRow again = std::get<KernelRow>(rows[1]);
  again.cpu.median *= 1.4, again.round = 1;
  rows.emplace_back(again);
  EXPECT_TRUE(said_by("W033", rows, h100()).empty());
  again.cpu.median *= 1.4;
  rows.emplace_back(again);
  const auto said = said_by("W033", rows, h100());
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(said[0].starts_with("W033: measurements of 1 of 4 ops contradict")) << said[0];
}

/// All are as the data sheet says but those that are fitted, four times as fast: the smaller hashes
/// are judged, three of ten.
TEST(Calibrate, AFitThatIsFurtherOffThanTheDataSheetIsNamed) {
  std::map<std::string, MatMul> ops;
  for (std::int64_t m = 256; m <= 8192; m += 256) {
    const MatMul op{.m = m, .n = 4096, .k = 4096};
    ops[sha256(to_json(Compute(op)))] = op;
  }
  const auto judged = static_cast<std::ptrdiff_t>(0.3 * static_cast<double>(ops.size()));
  std::vector<Row> rows = {some_run()};
  for (auto op = ops.begin(); op != ops.end(); ++op) {
    const double sheet = CostModel{}.compute(op->second, h100()).total().value;
    rows.push_back(timed(op->second, std::distance(ops.begin(), op) < judged ? sheet : sheet / 4));
  }
  const auto said = said_by("W033", rows, h100());
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(said[0].starts_with("W033: by the rows that were not fitted")) << said[0];
  EXPECT_NE(said[0].find("0.0 % without"), std::string::npos) << said[0];
}

std::string code_of(const std::vector<Row>& rows) {
  try {
    calibrate(rows, "box", "hash");
  } catch (const InputError& e) {
    return e.text().code;
  }
  return "";
}

TEST(Calibrate, TwoMachinesAreNotMixed) {
  std::vector<Row> rows = synthetic(0);
  rows.emplace_back(some_run("another cpu"));
  EXPECT_EQ(code_of(rows), "K005");
  EXPECT_EQ(code_of({Row(some_run())}), "K005") << "nothing to fit";
}

// ---- tables

CopyRow copied(const std::string& what, std::int64_t bytes, double seconds) {
  CopyRow row;
  row.what = what, row.bytes = bytes, row.cpu.median = seconds;
  return row;
}

/// 0.5 us and 0.1 ns per byte up to 1 MiB, then twice as much per byte.
double copy_time(std::int64_t bytes) {
  constexpr std::int64_t kCache = 1 << 20;
  const auto b = static_cast<double>(std::min(bytes, kCache));
  return 0.5e-6 + 1e-10 * b +
         2e-10 * static_cast<double>(std::max<std::int64_t>(bytes - kCache, 0));
}

TEST(Calibrate, TablesFollowAKink) {
  std::vector<Row> rows = {some_run()};
  for (std::int64_t bytes = 256; bytes <= 64 << 20; bytes *= 2) {
    rows.emplace_back(copied("copy", bytes, copy_time(bytes)));
    rows.emplace_back(copied("combine", bytes, 2 * copy_time(bytes)));
  }
  const CalibrationResult result = calibrate(rows, "box", "hash");
  ASSERT_EQ(result.quality.size(), 2U);
  // 19 sizes: places 1, 4, ... 16 are judged. Straight lines are off only where one spans the kink.
  for (const FitQuality& q : result.quality) {
    EXPECT_EQ(q.held_out_rows, 6);
    EXPECT_LT(q.held_out_error, 0.03) << q.name << ", worst " << q.worst;
  }
  const Piecewise& copy = result.calibration.copy;
  EXPECT_EQ(copy.at(Bytes(256)).value, copy_time(256));
  EXPECT_NEAR(copy.at(Bytes(128 << 20)).value, copy_time(128 << 20), 1e-9);
  EXPECT_NEAR(result.calibration.combine.at(Bytes(256)).value, 2 * copy_time(256), 1e-12);
}

// A slow round, last or not, moves neither table.
TEST(Calibrate, OfSeveralRoundsAndFilesTheMedianCounts) {
  MessageRow message;
  message.transport = "threads", message.bytes = 8;
  WakeRow wake;
  wake.transport = "threads";
  std::vector<Row> rows = {some_run()};
  for (const double slower : {1.0, 1.0, 100.0}) {
    rows.emplace_back(copied("copy", 256, slower * copy_time(256)));
    message.send_cpu.median = slower * 1e-6, message.receive_cpu.median = slower * 2e-6;
    message.one_way.median = slower * 8e-6;
    wake.wall.median = slower * 2e-5, wake.exchange.median = slower * 5e-5;
    rows.insert(rows.end(), {message, wake});
  }
  const Calibration c = calibrate(rows, "box", "hash").calibration;
  EXPECT_EQ(c.copy.at(Bytes(256)).value, copy_time(256));
  const MessageFit& fit = c.transports.at("threads");
  EXPECT_EQ(fit.send.at(Bytes(8)).value, 1e-6);
  EXPECT_EQ(fit.receive.at(Bytes(8)).value, 2e-6);
  EXPECT_EQ(fit.wake.value, 2e-5);
  EXPECT_NEAR(fit.latency.value, 5e-5 - 2 * 2e-5 - 3e-6, 1e-12);
}

TEST(Calibrate, MessagesAreSplitIntoTheirEndsAndTheWayBetween) {
  std::vector<Row> rows = {some_run()};
  for (std::int64_t bytes = 8; bytes <= 1 << 20; bytes *= 4) {
    MessageRow row;
    row.transport = "threads", row.bytes = bytes;
    row.send_cpu.median = 1e-6 + 1e-10 * static_cast<double>(bytes);
    row.receive_cpu.median = 2e-6 + 3e-10 * static_cast<double>(bytes);
    row.one_way.median = row.send_cpu.median + row.receive_cpu.median + 5e-6;
    rows.emplace_back(row);
  }
  WakeRow wake;
  wake.transport = "threads", wake.wall.median = 2e-5;
  rows.emplace_back(wake);
  const CalibrationResult result = calibrate(rows, "box", "hash");
  const MessageFit& fit = result.calibration.transports.at("threads");
  EXPECT_NEAR(fit.send.at(Bytes(1000)).value, 1.1e-6, 1e-12);
  EXPECT_NEAR(fit.receive.at(Bytes(1000)).value, 2.3e-6, 1e-12);
  EXPECT_NEAR(fit.latency.value, 5e-6, 1e-12);
  EXPECT_EQ(fit.wake.value, 2e-5);
  EXPECT_LT(fit.held_out_error, 1e-6);
}

}  // namespace plait::calibration_fit_test
