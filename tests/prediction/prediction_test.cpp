#include "prediction/prediction.h"

#include <gtest/gtest.h>

#include "costmodel/kernel_features.h"
#include "prediction/calibration_doubts.h"
#include "prediction/costs.h"
#include "prediction/idle_overrides.h"
#include "reports/json.h"
#include "reports/text.h"

namespace plait::prediction_test {

/// Of two stages and many microbatches, most of whose step repeats.
const char* const kPipeline = R"({
  "model": "gpt2", "workload": {"sequence_length": 128, "global_batch": 64, "micro_batch": 1},
  "cluster": {"preset": "dgx-a100", "devices_per_node": 2}, "strategy": {"pp": 2}})";

TEST(Prediction, TheReportAloneIsThatOfTheWholeStep) {
  const Scenario s = parse_scenario(kPipeline, "x");
  const Reported alone = report_of(s, costs_of(s), {});
  const Prediction whole = predict(s, {}, {});
  EXPECT_EQ(to_json(alone.report), to_json(whole.report));
  EXPECT_EQ(alone.counts.microbatches, 64);
}

TEST(Prediction, EachRankByItselfTakesAsLong) {
  const Scenario s = parse_scenario(kPipeline, "x");
  EXPECT_EQ(predict(s, {.unfold = true}, {}).report.step_time_s,
            predict(s, {}, {}).report.step_time_s);
}

/// A calibration of the scenario's device that has the product of one layout alone.
CostModel calibrated(const Scenario& s) {
  Calibration c;
  c.name = "box", c.date = "2026-01-02";
  KernelFit fit;
  const std::size_t features = feature_names("matmul").size();
  fit.coefficients.assign(features, 0), fit.coefficients[0] = 1e-9;  // seconds a call
  fit.least.assign(features, 0), fit.most.assign(features, 1e18);
  c.kernels["matmul.nt.bf16"] = fit;
  return costs_of(s, std::make_shared<const Calibration>(c));
}

TEST(Prediction, ByACalibrationSaysSoAndWhatThatHasNot) {
  const Scenario s = parse_scenario(kPipeline, "x");
  const Report without = report_of(s, costs_of(s), {}).report;
  EXPECT_EQ(without.calibration, "");
  EXPECT_EQ(to_json(without).find("\"calibration\""), std::string::npos);
  const Report with = report_of(s, calibrated(s), {}).report;
  EXPECT_EQ(with.calibration, "box, 2026-01-02");
  EXPECT_NE(to_json(with).find(R"("calibration": "box, 2026-01-02")"), std::string::npos);
  EXPECT_NE(to_text(with, {}).find("calibration box, 2026-01-02"), std::string::npos);
  ASSERT_FALSE(with.run.warnings.empty());
  const std::string told = printed(with.run.warnings.front());
  EXPECT_TRUE(told.starts_with("W035: the calibration box, 2026-01-02 has no ")) << told;
  EXPECT_NE(told.find("matmul.nn.bf16"), std::string::npos) << told;
  EXPECT_EQ(told.find("matmul.nt.bf16"), std::string::npos) << told;
}

/// Where half of each causal square counts, which attention computes.
TEST(Prediction, MoreThanThePeakByACalibrationIsDoubted) {
  const Scenario s = parse_scenario(kPipeline, "x");
  const CostModel with = calibrated(s), without = costs_of(s);
  Report r;
  r.mfu = 1.3, r.mfu_of_half_squares = 0.9;
  EXPECT_TRUE(doubts_of_rate(r, with).empty());
  r.mfu_of_half_squares = 1.1;
  EXPECT_TRUE(doubts_of_rate(r, without).empty());
  ASSERT_EQ(doubts_of_rate(r, with).size(), 1U);
  EXPECT_TRUE(printed(doubts_of_rate(r, with).front()).starts_with("W032: an MFU of 110"));
}

TEST(IdleOverrides, AreThoseThatSayWhatTheScenarioSays) {
  const std::vector<Override> sets = {{"workload.micro_batch", "2"}, {"strategy.pp", "2"}};
  const Scenario s = parse_scenario(kPipeline, "x", sets);
  Reported p = report_of(s, costs_of(s), {});
  p.report.run.scenario = s.name;
  EXPECT_EQ(idle_overrides(sets, {"x", kPipeline}, p, false), std::vector<std::size_t>{1});
}

}  // namespace plait::prediction_test
