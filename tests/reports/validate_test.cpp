#include "reports/validate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace plait::validate_test {

ValidationRecord record(double measured, double predicted, const std::string& group = "g") {
  ValidationRecord r;
  r.file = "runs";
  r.id = "runs#" + std::to_string(static_cast<int>(1000 * measured));
  r.group = group;
  r.scenario = r.id;
  r.measured_s = measured;
  r.predicted_s = predicted;
  r.says_memory = true;
  r.provenance.band = 0.15;
  return r;
}

ValidationSummary summary_of(const std::vector<ValidationRecord>& records) {
  std::vector<const ValidationRecord*> pointers;
  for (const ValidationRecord& r : records) pointers.push_back(&r);
  return summarize(pointers);
}

TEST(Validate, ErrorsBiasAndQuantiles) {
  // Errors: +10 %, -20 %, +40 %, 0.
  const ValidationSummary s =
      summary_of({record(1, 1.1), record(2, 1.6), record(5, 7), record(4, 4)});
  EXPECT_EQ(s.n, 4);
  EXPECT_NEAR(*s.mape, (0.1 + 0.2 + 0.4) / 4, 1e-12);
  EXPECT_NEAR(*s.median_ape, 0.15, 1e-12);
  EXPECT_NEAR(*s.p90_ape, 0.4, 1e-12);
  EXPECT_NEAR(*s.bias, (0.1 - 0.2 + 0.4) / 4, 1e-12);
  EXPECT_NEAR(*s.in_band, 2.0 / 4, 1e-12) << "the band is 15 %";
}

TEST(Validate, KendallsTauByPairs) {
  // Measured 1 2 3 4, predicted in the order 1 3 2 4: five pairs of six agree.
  const ValidationSummary s =
      summary_of({record(1, 10), record(2, 30), record(3, 20), record(4, 40)});
  EXPECT_NEAR(*s.kendall_tau, (5.0 - 1) / 6, 1e-12);
  EXPECT_EQ(s.ranked_groups, 1);
}

TEST(Validate, GroupsAreRankedApart) {
  // Each group is in order; across the groups nothing is compared.
  const ValidationSummary s =
      summary_of({record(1, 100, "a"), record(2, 200, "a"), record(3, 300, "a"), record(4, 1, "b"),
                  record(5, 2, "b"), record(6, 3, "b"), record(7, 0, "c")});
  EXPECT_NEAR(*s.kendall_tau, 1, 1e-12);
  EXPECT_EQ(s.ranked_groups, 2) << "a group of one cannot be ranked";
}

TEST(Validate, TiesInThePredictionLowerTau) {
  // Pairs: (1,2) tied in the prediction; (1,3) and (2,3) agree. tau-b = 2 / sqrt(3 * 2).
  const ValidationSummary s = summary_of({record(1, 5), record(2, 5), record(3, 6)});
  EXPECT_NEAR(*s.kendall_tau, 2 / std::sqrt(6.0), 1e-12);
}

TEST(Validate, RegretIsWhatThePickCosts) {
  // The prediction picks the run of 3 s; the best took 2 s.
  const ValidationSummary s = summary_of({record(2, 9), record(3, 1), record(4, 8)});
  EXPECT_NEAR(*s.top1_regret, 0.5, 1e-12);
}

/// Repeats of a layout have one prediction: their mean counts, whichever stands first.
TEST(Validate, RegretIsTheSameInAnyOrder) {
  std::vector<ValidationRecord> runs = {record(2, 1), record(3, 1), record(4, 8)};
  for (int n = 0; n < 3; ++n) {
    EXPECT_NEAR(*summary_of(runs).top1_regret, 2.5 / 2 - 1, 1e-12);
    std::ranges::rotate(runs, runs.begin() + 1);
  }
}

TEST(Validate, LayoutsAreRankedByTimePerSequence) {
  std::vector<ValidationRecord> runs = {record(2, 2), record(3, 3), record(4, 4)};
  runs[0].sequences = 1;  // 2 s per sequence: the worst
  runs[1].sequences = 3;  // 1 s
  runs[2].sequences = 8;  // 0.5 s
  runs[2].predicted_s = 100;
  EXPECT_NEAR(*summary_of(runs).top1_regret, 1.0, 1e-12) << "picks 1 s where 0.5 s is best";
}

TEST(Validate, OutOfMemoryConfusion) {
  std::vector<ValidationRecord> runs(4);
  for (ValidationRecord& r : runs) r.says_memory = true;
  runs[0].measured_oom = true, runs[0].fits = false;
  runs[1].measured_oom = true, runs[1].fits = true;
  runs[2].fits = true;
  runs[3].fits = false;
  const ValidationSummary s = summary_of(runs);
  EXPECT_EQ(s.oom_does_not_fit, 1);
  EXPECT_EQ(s.oom_fits, 1);
  EXPECT_EQ(s.ran_fits, 1);
  EXPECT_EQ(s.ran_does_not_fit, 1);
  EXPECT_NEAR(*s.oom_accuracy, 0.5, 1e-12);
  EXPECT_FALSE(s.mape.has_value()) << "no times";
}

TEST(Validate, RepeatsAreTheNoiseFloor) {
  std::vector<ValidationRecord> runs = {record(0.9, 1), record(1, 1), record(1.2, 1), record(7, 7)};
  for (int i = 0; i < 3; ++i) runs[static_cast<std::size_t>(i)].scenario = "the same";
  const ValidationSummary s = summary_of(runs);
  EXPECT_EQ(s.repeats, 3);
  EXPECT_NEAR(*s.repeat_ape, (0.1 + 0 + 0.2) / 3, 1e-12);
}

TEST(Validate, WhatIsNotRepresentedCountsNowhere) {
  std::vector<ValidationRecord> runs = {record(1, 1.1), record(1, 9)};
  runs[1].reason = "no such thing";
  const ValidationSummary s = summary_of(runs);
  EXPECT_EQ(s.n, 1);
  EXPECT_EQ(s.not_represented, 1);
  EXPECT_NEAR(*s.mape, 0.1, 1e-12);
  EXPECT_EQ(s.ran_fits, 1);
}

TEST(Validate, JsonHasTheKeysThatReadersRelyOn) {
  std::vector<ValidationRecord> runs = {record(1, 1.1), record(2, 2)};
  runs[0].measured_memory_bytes = 100;
  runs[0].predicted_memory_bytes = 90;
  runs[1].reason = "not planned";
  const auto json = nlohmann::json::parse(validation_json({runs, "1", "plait validate"}));
  ASSERT_EQ(json["records"].size(), 1U);
  const auto& r = json["records"][0];
  for (const char* key : {"id", "measured_s", "predicted_s", "error", "fits", "measured_oom",
                          "measured_memory_bytes", "predicted_memory_bytes", "provenance"}) {
    EXPECT_TRUE(r.contains(key)) << key;
  }
  for (const char* key : {"n", "mape", "median_ape", "p90_ape", "bias", "kendall_tau",
                          "top1_regret", "oom_accuracy", "memory_median_ape"}) {
    EXPECT_TRUE(json["summary"].contains(key)) << key;
  }
  EXPECT_NEAR(r["error"], 0.1, 1e-12);
  EXPECT_NEAR(json["summary"]["memory_median_ape"], 0.1, 1e-12);
  EXPECT_EQ(json["not_represented"][0]["reason"], "not planned");
}

TEST(Validate, TextNamesEveryReason) {
  std::vector<ValidationRecord> runs = {record(1, 1.1), record(2, 2)};
  runs[1].reason = "a thing that is not planned";
  const std::string text = validation_text({runs, "1", "x"}, -1, {.width = 100});
  EXPECT_NE(text.find("a thing that is not planned"), std::string::npos);
  EXPECT_NE(text.find("+10.0 %"), std::string::npos);
}

TEST(Validate, ScatterHasAMarkForEachRun) {
  const std::string one = validation_svg({{record(1, 1.1)}, "1", "x"});
  const std::string two = validation_svg({{record(1, 1.1), record(2, 2)}, "1", "x"});
  const auto marks = [](const std::string& svg) {
    std::size_t n = 0;
    for (std::size_t at = svg.find("h6v6"); at != std::string::npos; at = svg.find("h6v6", at + 1))
      ++n;
    return n;
  };
  EXPECT_EQ(marks(one), 2U) << "the legend's, too";
  EXPECT_EQ(marks(two), 3U);
}

/// 100 and 110 ms lie between 100 ms and 316 ms: no power of ten but one.
TEST(Validate, ScatterOfAFewRunsHasAScale) {
  for (const double seconds : {0.1, 0.15, 0.35, 0.9}) {
    const std::string svg = validation_svg({{record(seconds, 1.1 * seconds)}, "1", "x"});
    std::size_t ticks = 0;
    for (std::size_t at = svg.find("s</text>"); at != std::string::npos;
         at = svg.find("s</text>", at + 1)) {
      ++ticks;
    }
    EXPECT_GE(ticks, 6U) << "three on each axis\n" << svg;
  }
}

}  // namespace plait::validate_test
