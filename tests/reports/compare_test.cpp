#include "reports/compare.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/reports/made_up.h"

namespace plait::compare_test {

/// A reference of 3 us, one 10 % slower, one that cannot be planned.
std::vector<ComparedScenario> three() {
  MadeUp slower;
  slower.timeline.step_time = 3300 * kNs;
  slower.explanation.breakdown[3].time = Seconds(1.3e-6);  // the bubble
  return {{"tp=1", MadeUp().report(), ""},
          {"tp=2", slower.report(), ""},
          {"tp=3", std::nullopt, "S014: 8 heads cannot be split over tp = 3"}};
}

TEST(Compare, DifferencesAreRelativeToTheFirst) {
  const auto j = nlohmann::json::parse(comparison_json(three()));
  EXPECT_EQ(j["reference"], "tp=1");
  EXPECT_NEAR(j["candidates"][0]["step_time_difference"].get<double>(), 0, 1e-12);
  EXPECT_NEAR(j["candidates"][1]["step_time_difference"].get<double>(), 0.1, 1e-12);
  EXPECT_EQ(j["candidates"][1]["report"]["world_size"], 4);
}

TEST(Compare, ALayoutThatCannotBePlannedShowsWhy) {
  EXPECT_NE(comparison_text(three(), {}).find("cannot be split over tp = 3"), std::string::npos);
  const auto j = nlohmann::json::parse(comparison_json(three()));
  EXPECT_EQ(j["candidates"][2]["planned"], false);
  EXPECT_NE(comparison_csv(three()).find("S014: 8 heads"), std::string::npos);
}

TEST(Compare, StepsOfDifferentSizeAreSaidToBe) {
  std::vector<ComparedScenario> c = three();
  EXPECT_EQ(comparison_text(c, {}).find("compare tokens/s"), std::string::npos);
  c[1].report->tokens_per_s *= 2;
  EXPECT_NE(comparison_text(c, {}).find("compare tokens/s"), std::string::npos);
}

/// Trainings on machines of several sizes, with a price and energy: all columns there are.
TEST(Compare, TrainingsStandInOneLineEach) {
  std::vector<ComparedScenario> c = three();
  c.resize(2);
  for (ComparedScenario& one : c) {
    one.report->training =
        TrainingReport{.total_s = 2.3e8, .steps_s = 2.2e8, .price = 1.03e7, .energy_kwh = 2.89e6};
  }
  c[1].report->world_size = 128;
  const std::string text = comparison_text(c, {});
  const std::size_t first = text.find("tp=1"), second = text.find("tp=2");
  EXPECT_EQ(text.substr(first, second - first).find('\n'), second - first - 1) << text;
  EXPECT_NE(text.find("2.89 GWh\n"), std::string::npos) << text;
}

TEST(Compare, WholeSquaresOfLongSequencesAreToldWithTheirHalves) {
  std::vector<ComparedScenario> c = three();
  c[0].report->mfu = 0.876, c[0].report->mfu_of_half_squares = 0.453;
  c[1].report->mfu = 0.8, c[1].report->mfu_of_half_squares = 0.401;
  EXPECT_NE(comparison_text(c, {.width = 200}).find("MFU is 40.1 % to 45.3 %"), std::string::npos);
  c[0].report->mfu_of_half_squares = 0.86, c[1].report->mfu_of_half_squares = 0;  // next to nothing
  EXPECT_EQ(comparison_text(c, {.width = 200}).find("whole squares"), std::string::npos);
}

TEST(Compare, WhatDoesNotFitInHostMemoryShowsIt) {
  std::vector<ComparedScenario> c = three();
  EXPECT_EQ(comparison_text(c, {}).find("host"), std::string::npos);
  MemoryReport& m = c[1].report->memory;
  m.host_bytes = std::int64_t{134} << 30, m.host_capacity_bytes = std::int64_t{64} << 30;
  m.fits = false;
  EXPECT_NE(comparison_text(c, {}).find("host"), std::string::npos);
  EXPECT_NE(comparison_text(c, {}).find("134.0 GiB   NO"), std::string::npos)
      << comparison_text(c, {});
}

TEST(Compare, WithoutStagesADifferenceOfWaitsIsNoBubble) {
  std::vector<ComparedScenario> c = three();
  c.resize(2);
  EXPECT_NE(comparison_text(c, {}).find("  bubble      "), std::string::npos);
  for (ComparedScenario& one : c) one.report->mesh[Axis::kPp] = 1;
  EXPECT_NE(comparison_text(c, {}).find("  waiting for other ranks"), std::string::npos);
  EXPECT_EQ(comparison_text(c, {}).find("  bubble      "), std::string::npos);
}

TEST(Compare, WhatHasNoPriceIsNotSaidToCostNothing) {
  std::vector<ComparedScenario> c = three();
  c[0].report->price_per_billion_tokens = 68.398;
  EXPECT_EQ(price_cell(*c[0].report).text, "68.398");
  EXPECT_EQ(price_cell(*c[1].report).text, "-");
}

TEST(Compare, TheReferenceIsTheFirstThatCanBePlanned) {
  std::vector<ComparedScenario> c = three();
  std::swap(c[0], c[2]);
  EXPECT_EQ(reference_of(c), std::optional<std::size_t>(1));
  c.resize(1);
  EXPECT_EQ(reference_of(c), std::nullopt);
  EXPECT_NE(comparison_text(c, {}).find("tp=3"), std::string::npos);
}

TEST(Compare, TheGateNamesWhatIsOverTheLimit) {
  EXPECT_EQ(over_limit(three(), 0.11), (std::vector<std::string>{"tp=3"}));
  EXPECT_EQ(over_limit(three(), 0.09), (std::vector<std::string>{"tp=2", "tp=3"}));
}

TEST(Compare, TheGateAlsoTripsWhenASteptimeFalls) {
  std::vector<ComparedScenario> c = three();
  std::swap(c[0], c[1]);  // 3 us against 3.3 us: -9.1 %
  EXPECT_EQ(over_limit(c, 0.09), (std::vector<std::string>{"tp=1", "tp=3"}));
}

TEST(Compare, LimitsArePercentagesOrFractions) {
  EXPECT_DOUBLE_EQ(parse_limit("5%"), 0.05);
  EXPECT_DOUBLE_EQ(parse_limit("2.5 %"), 0.025);
  EXPECT_DOUBLE_EQ(parse_limit("0.1"), 0.1);
  EXPECT_DOUBLE_EQ(parse_limit("1"), 1);
  EXPECT_DOUBLE_EQ(parse_limit("150%"), 1.5);
  for (const char* bad : {"", "%", "five", "5x", "-5%", "nan", "1.2.3", "5%%", "5", "1.5"}) {
    EXPECT_THROW(parse_limit(bad), InputError) << bad;
  }
}

TEST(Compare, TwoReportsSayWhereTheDifferenceComesFrom) {
  std::vector<ComparedScenario> c = three();
  c.resize(2);
  const std::string text = comparison_text(c, {});
  const std::size_t heading = text.find("where the difference comes from");
  ASSERT_NE(heading, std::string::npos);
  const std::string parts = text.substr(heading);
  EXPECT_NE(parts.find("bubble"), std::string::npos);
  EXPECT_NE(parts.find("+10.0 %"), std::string::npos);
  EXPECT_EQ(parts.find("compute"), std::string::npos);  // unchanged
}

TEST(Compare, RowsKeepToTheWindow) {
  std::vector<ComparedScenario> c = three();
  c[1].label = std::string(150, 'x');
  for (const int width : {100, 80}) {
    std::string line;
    for (const char ch : comparison_text(c, {width, false, true})) {
      if (ch != '\n') {
        line += ch;
        continue;
      }
      EXPECT_LE(display_width(line), width) << line;
      line.clear();
    }
  }
}

TEST(Compare, EveryCsvRowHasAllColumns) {
  const std::string text = comparison_csv(three());
  std::vector<std::ptrdiff_t> commas;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find("\r\n", begin);
    bool quoted = false;
    std::ptrdiff_t n = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (text[i] == '"') quoted = !quoted;
      n += !quoted && text[i] == ',';
    }
    commas.push_back(n);
    begin = end + 2;
  }
  EXPECT_EQ(commas, std::vector<std::ptrdiff_t>(4, commas.at(0)));
}

}  // namespace plait::compare_test
