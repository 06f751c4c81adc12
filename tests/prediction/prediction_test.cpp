#include "prediction/prediction.h"

#include <gtest/gtest.h>

#include "prediction/costs.h"
#include "prediction/idle_overrides.h"
#include "reports/json.h"

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

TEST(IdleOverrides, AreThoseThatSayWhatTheScenarioSays) {
  const std::vector<Override> sets = {{"workload.micro_batch", "2"}, {"strategy.pp", "2"}};
  const Scenario s = parse_scenario(kPipeline, "x", sets);
  Reported p = report_of(s, costs_of(s), {});
  p.report.run.scenario = s.name;
  EXPECT_EQ(idle_overrides(sets, {"x", kPipeline}, p, false), std::vector<std::size_t>{1});
}

}  // namespace plait::prediction_test
