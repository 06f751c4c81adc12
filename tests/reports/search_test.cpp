#include "reports/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/reports/made_up.h"

namespace plait::search_test {

SearchRow row(bool fits) {
  SearchRow out;
  out.layout = fits ? "dp 4" : "dp 2";
  out.report = MadeUp().report();
  out.report.memory.fits = fits;
  out.energy_kwh_per_billion_tokens = 0.25;
  return out;
}

SearchReport answer() {
  SearchReport out;
  out.scenario = "s", out.objective = "time";
  out.best = {row(true)};
  out.best[0].settings = {{"strategy.tp", "2"}};
  return out;
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string text_of(const SearchReport& report) { return search_text(report, {.width = 100}); }

/// It may be faster than the best, and is no answer.
TEST(SearchText, ARowThatDoesNotFitSaysSo) {
  SearchReport report = answer();
  report.own = row(true);
  EXPECT_FALSE(says(text_of(report), "fits"));
  report.own = row(false);
  EXPECT_TRUE(says(text_of(report), "fits")) << text_of(report);
  EXPECT_TRUE(says(text_of(report), "NO")) << text_of(report);
}

TEST(SearchText, EnergyStandsWhereItIsTheObjective) {
  SearchReport report = answer();
  EXPECT_FALSE(says(text_of(report), "kWh/1e9"));
  report.objective = "energy";
  EXPECT_TRUE(says(text_of(report), "kWh/1e9") && says(text_of(report), "0.25"));
  EXPECT_EQ(nlohmann::json::parse(search_json(report))["best"][0]["energy_kwh_per_billion_tokens"],
            0.25);
}

TEST(SearchText, WholeSquaresOfLongSequencesAreToldWithTheirHalves) {
  SearchReport report = answer();
  EXPECT_FALSE(says(text_of(report), "whole squares"));
  report.rule_of_thumb = row(true);
  report.rule_of_thumb->report.mfu = 0.876, report.rule_of_thumb->report.mfu_of_half_squares = 0.45;
  EXPECT_TRUE(says(text_of(report), "whole squares")) << text_of(report);
  EXPECT_TRUE(says(text_of(report), "45.0 %")) << text_of(report);
}

TEST(SearchText, ThatTheScenarioItselfCannotBePlannedIsSaid) {
  SearchReport report = answer();
  EXPECT_FALSE(says(text_of(report), "as written"));
  report.own_refused = {.code = "S030", .problem = "no layers are left"};
  EXPECT_TRUE(says(text_of(report), "as written it cannot be planned: S030, no layers are left"));
  EXPECT_EQ(nlohmann::json::parse(search_json(report))["as_written_refused"]["code"], "S030");
}

TEST(SearchText, AnEmptyAnswerSaysWhy) {
  SearchReport report = answer();
  report.best.clear();
  report.counts = {.considered = 30, .too_large = 30};
  EXPECT_TRUE(says(text_of(report), "NOTHING FITS"));
  EXPECT_FALSE(says(text_of(report), "NOTHING FITS of"));
  report.counts = {.considered = 30, .refused = 20, .too_large = 10};
  EXPECT_TRUE(
      says(text_of(report), "NOTHING FITS of the 10 layouts that can be planned; 20 cannot"))
      << text_of(report);
  report.nothing = "NOTHING IN TIME: late";
  EXPECT_TRUE(says(text_of(report), "NOTHING IN TIME: late"));
  EXPECT_FALSE(says(text_of(report), "NOTHING FITS"));
  EXPECT_EQ(nlohmann::json::parse(search_json(report))["nothing"], report.nothing);
}

TEST(SearchText, TheBestMayBeTheScenarioItself) {
  SearchReport report = answer();
  EXPECT_TRUE(says(text_of(report), "--set strategy.tp=2"));
  report.best[0].settings.clear();
  EXPECT_TRUE(says(text_of(report), "the scenario is the best"));
}

/// Of layouts that differ in chunks or shards alone the best; all have numbers, and stand in JSON.
TEST(SearchText, OfAFamilyTheBestStandsForAll) {
  SearchReport report = answer();
  for (const char* chunks : {"2", "4"}) {
    report.best.push_back(report.best.front());
    report.best.back().settings.push_back({"strategy.pipeline.chunks", chunks});
    report.best.back().report.step_time_s *= 1.25;
    report.best.back().report.tokens_per_s /= 1.25;
  }
  report.best.push_back(row(true));
  report.best.back().layout = "dp 3";
  const std::string text = text_of(report);
  EXPECT_TRUE(says(text, "and 2 like it, with other chunks or shards: +25.0 % at most")) << text;
  EXPECT_FALSE(says(text, "\n2  ") || says(text, "\n3  ")) << text;
  EXPECT_TRUE(says(text, "\n4  ") && says(text, "dp 3")) << text;
  EXPECT_EQ(nlohmann::json::parse(search_json(report))["best"].size(), 4U);
}

TEST(SearchText, ABestThatIsProvenIsSaidToBeThoughLayoutsAreUndecided) {
  SearchReport report = answer();
  report.best.push_back(row(true));
  report.counts.open = 7, report.counts.gap_of_last = 0.25;
  EXPECT_TRUE(says(text_of(report), "7 undecided; the best is proven, place 2")) << text_of(report);
  EXPECT_TRUE(says(text_of(report), "25.0 % faster")) << text_of(report);
  report.counts.gap = 0.125;
  EXPECT_TRUE(says(text_of(report), "7 undecided, of which one may be up to")) << text_of(report);
}

TEST(SearchText, AFrontThatTheBudgetEndedSaysSo) {
  SearchReport report = answer();
  report.front = report.best;
  EXPECT_FALSE(says(front_words(report), "more"));
  report.simulated_for_front = 17, report.front_cut = true;
  EXPECT_TRUE(says(front_words(report), ", which took 17 simulations more; the budget is spent"));
  EXPECT_FALSE(says(text_of(report), "INTERRUPTED"));
  const auto j = nlohmann::json::parse(search_json(report));
  EXPECT_EQ(j["layouts"]["simulated_for_front"], 17);
  EXPECT_EQ(j["front_complete"], false);
}

TEST(SearchText, AnInterruptedSearchSaysWhatIsMissing) {
  SearchReport report = answer();
  report.front = report.best;
  EXPECT_FALSE(says(text_of(report), "INTERRUPTED"));
  report.interrupted = report.front_cut = true;
  EXPECT_TRUE(says(text_of(report), "INTERRUPTED: the front lacks layouts")) << text_of(report);
  EXPECT_TRUE(says(text_of(report), "none is faster")) << text_of(report);
  EXPECT_EQ(nlohmann::json::parse(search_json(report))["front_complete"], false);
  report.not_begun = 2;
  EXPECT_TRUE(says(text_of(report), "2 of the variants are not searched")) << text_of(report);
  EXPECT_TRUE(says(text_of(report), "none of these is faster")) << text_of(report);
}

TEST(SearchCsv, EachColumnHasANameOfItsOwn) {
  const std::string csv = search_csv(answer());
  std::vector<std::string> names;
  std::stringstream header(csv.substr(0, csv.find('\r')));
  for (std::string name; std::getline(header, name, ',');) names.push_back(name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(SearchFront, EachLayoutStandsThereOnce) {
  const std::vector<SearchRow> rows(3, row(true));
  EXPECT_EQ(pareto_front(rows).size(), 1U);
}

/// Steps of 50 GiB up to 200: the axis ends with the last.
TEST(SearchFront, ThePictureHasRoomForItsLargestMemory) {
  SearchReport report = answer();
  report.front = {row(true)};
  report.front[0].report.memory.peak_memory_bytes = std::int64_t{175} << 30;
  EXPECT_TRUE(says(search_svg(report), ">200 GiB<")) << search_svg(report);
}

TEST(SearchText, TheMostFrequentErrorsAreNamed) {
  SearchReport report = answer();
  for (int i = 1; i <= 5; ++i)
    report.refusals.push_back({{}, {"S00" + std::to_string(i), "no"}, i});
  const std::string text = text_of(report);
  EXPECT_TRUE(says(text, "5 cannot be planned: S005, no\n4 cannot")) << text;
  EXPECT_TRUE(says(text, "and 2 more errors")) << text;
  EXPECT_FALSE(says(text, "S001")) << text;
  EXPECT_EQ(nlohmann::json::parse(search_json(report))["refusals"].size(), 5U);
}

/// Days, price and GPUs of a training stand beside the usual columns, in one line each.
TEST(SearchText, NoRowIsWiderThanTheTerminal) {
  SearchReport report = answer();
  report.tokens = 15e12, report.objective = "energy";
  report.best[0].machine = {{"cluster.nodes", "2"}};
  report.best[0].report.price_per_billion_tokens = 1234;
  report.rule_of_thumb = row(false);
  const std::string text = text_of(report);
  const std::size_t at = text.find("rule of thumb");
  const std::string line = text.substr(at, text.find('\n', at) - at);
  EXPECT_TRUE(says(line, "0.25")) << text;  // the last column
}

}  // namespace plait::search_test
