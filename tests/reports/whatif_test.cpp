#include "reports/whatif.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/reports/made_up.h"

namespace plait::whatif_test {

Report taking(double us, const std::string& resource) {
  MadeUp m;
  m.timeline.step_time = static_cast<SimTime>(us * 1000) * kNs;
  m.explanation.breakdown = {{"compute", "matmul", Seconds(us * 1e-6)}};
  m.explanation.sensitivity = {{resource, Seconds(us * 0.9e-6)}};
  return m.report();
}

/// Step times of 4, 2 and 1 us at 100, 200 and 400 Gbit/s; 16 us with full recomputation at the
/// first, nothing at the second, 8 us at the third.
WhatIf study() {
  WhatIf s;
  s.scenario = "made up";
  s.knobs = {make_knob({"cluster.inter_node.bandwidth", {"100 Gbit/s", "25 GB/s", "400 Gbit/s"}},
                       "50 GB/s"),
             make_knob({"strategy.recompute", {"none", "full"}}, "")};
  s.base = {{"400 Gbit/s", "as is"}, taking(1, "peak_flops"), "", {}};
  s.base.report->run.scenario_sha256 = "as it is";
  const auto add = [&](const char* speed, const char* recompute, std::optional<Report> report) {
    s.points.push_back({{speed, recompute}, std::move(report), "S010: no", {}});
  };
  add("100 Gbit/s", "none", taking(4, "infiniband_bandwidth"));
  add("100 Gbit/s", "full", taking(16, "infiniband_bandwidth"));
  add("25 GB/s", "none", taking(2, "infiniband_bandwidth"));
  add("25 GB/s", "full", std::nullopt);
  add("400 Gbit/s", "none", taking(1, "peak_flops"));
  add("400 Gbit/s", "full", taking(8, "peak_flops"));
  return s;
}

std::string line_with(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
  return text.substr(begin, text.find('\n', at) - begin);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

constexpr int kWide = 101;  // labels beside their numbers, with a made-up MFU of 150 %

TEST(Knob, QuantitiesOfOneKindAreReadInTheUnitOfTheFirst) {
  const Knob k = make_knob({"x", {"100 Gbit/s", "25 GB/s"}}, "50 GB/s");
  ASSERT_TRUE(k.numeric());
  EXPECT_EQ(k.measures[1].number, 200);
  EXPECT_EQ(k.base, "400 Gbit/s");
  EXPECT_FALSE(make_knob({"x", {"100 Gbit/s", "2 us"}}, "").numeric());
  EXPECT_FALSE(make_knob({"x", {"none", "full"}}, "none").numeric());
}

TEST(WhatIf, EachRowIsComparedToTheFirstAndToTheScenario) {
  const std::string text = whatif_text(study(), {.width = kWide});
  const std::string row = line_with(text, "25 GB/s");
  EXPECT_NE(row.find("-50.0 %"), std::string::npos) << text;   // 2 of 4 us
  EXPECT_NE(row.find("+100.0 %"), std::string::npos) << text;  // 2 of 1 us
  EXPECT_NE(row.find("infiniband bandwidth"), std::string::npos) << text;
  EXPECT_NE(text.find("S010: no"), std::string::npos) << text;
  const auto j = nlohmann::json::parse(whatif_json(study()));
  EXPECT_EQ(j["points"][2]["step_time_difference_to_first"], -0.5);
  EXPECT_EQ(j["points"][2]["step_time_difference_to_base"], 1.0);
  EXPECT_EQ(j["points"][3]["reason"], "S010: no");
  EXPECT_EQ(j["points"][1]["values"]["strategy.recompute"], "full");
}

TEST(WhatIf, APointThatIsTheScenarioStandsOnceInItsPlace) {
  WhatIf s = study();
  EXPECT_EQ(count(whatif_text(s, {.width = 100}), "400 Gbit/s  none"), 1U);
  EXPECT_EQ(count(whatif_text(s, {.width = 100}), "400 Gbit/s  as is"), 1U);
  s.points[4].report->run.scenario_sha256 = "as it is";
  const std::string text = whatif_text(s, {.width = kWide});
  EXPECT_EQ(count(text, "400 Gbit/s  as is"), 0U) << text;
  const std::string row = line_with(text, "400 Gbit/s  none");
  EXPECT_NE(row.find("-75.0 %"), std::string::npos) << text;  // to the first, and to no base
  EXPECT_EQ(row.find("+0.0 %"), std::string::npos) << text;
  EXPECT_EQ(nlohmann::json::parse(whatif_json(s))["base"]["values"]["strategy.recompute"], "as is");
}

TEST(WhatIf, ValuesStandUnderTheLastWordsOfTheirPaths) {
  WhatIf s = study();
  s.knobs[1].path = "cluster.intra_node.bandwidth";
  const std::string text = whatif_text(s, {.width = 100});
  EXPECT_NE(text.find("inter_node.bandwidth, intra_node.bandwidth"), std::string::npos) << text;
  EXPECT_NE(whatif_text(study(), {.width = 100}).find("bandwidth   recompute"), std::string::npos);
}

/// Though the names of the fields have no room above them.
TEST(WhatIf, ValuesStandBesideTheirNumbers) {
  WhatIf s = study();
  s.knobs[0].path = "cluster.gradient_accumulation_of_a_long_name";
  s.knobs[1].path = "strategy.another_of_them_that_is_long";
  const std::string text = whatif_text(s, {.width = 100});
  std::size_t rows = 0;
  for (std::size_t at = text.find(" us "); at != std::string::npos;
       at = text.find(" us ", at + 1)) {
    const std::size_t begin = text.rfind('\n', at) + 1;
    EXPECT_NE(text[begin], ' ') << text;
    ++rows;
  }
  EXPECT_GE(rows, 4U) << text;
}

TEST(WhatIf, SentencesNameValueAndUnit) {
  WhatIf s = study();
  const std::string others = "the others as in the scenario: ";  // two fields are varied
  const KnobFinding enough{0, {.kind = BreakEven::Kind::kEnough, .at = 262.4}};
  EXPECT_EQ(sentence(s, enough),
            others +
                "above 262 Gbit/s cluster.inter_node.bandwidth no longer matters: the step time is "
                "within 1 % of unlimited");
  const KnobFinding bound{
      0,
      {.kind = BreakEven::Kind::kBound, .at = 118, .below = "nvlink latency", .above = "compute"}};
  EXPECT_EQ(
      sentence(s, bound),
      others +
          "below 118 Gbit/s of cluster.inter_node.bandwidth the step is bound by nvlink latency, "
          "above by compute");
  EXPECT_EQ(sentence(s, Crossover{{"none"}, {"full"}, 150}),
            "recompute full beats recompute none above 150 Gbit/s of cluster.inter_node.bandwidth");
}

TEST(WhatIfCurves, HaveALineForEachCombinationAndAMarkForEachPointAndItsLegend) {
  const std::string svg = whatif_svg(study());
  EXPECT_EQ(count(svg, "<polyline"), 3U);  // one breaks where a point cannot be planned
  for (const char* colour :
       {"stroke=\"#0072B2\" stroke-width=\"1.6\"", "stroke=\"#E69F00\" stroke-width=\"1.6\""}) {
    EXPECT_GE(count(svg, colour), 1U) << "each combination has a colour";
  }
  // Infiniband bandwidth: circles, 3 points and the legend; compute: squares, 2 and the legend.
  EXPECT_EQ(count(svg, "<circle"), 4U);
  EXPECT_EQ(count(svg, "<polygon"), 3U);
  EXPECT_NE(svg.find(">cluster.inter_node.bandwidth (Gbit/s)<"), std::string::npos);
  EXPECT_NE(svg.find(">step time (us)<"), std::string::npos);
  EXPECT_NE(svg.find(">200<"), std::string::npos);
}

TEST(WhatIfCurves, WordsAreCategoriesInTheOrderGiven) {
  WhatIf s = study();
  std::swap(s.knobs[0], s.knobs[1]);
  s.knobs.resize(1);
  s.points.resize(2);
  for (WhatIfPoint& p : s.points) p.values = {p.values[1]};
  const std::string svg = whatif_svg(s);
  EXPECT_LT(svg.find(">none<"), svg.find(">full<"));
  EXPECT_EQ(count(svg, "<polyline"), 1U);
}

/// One curve over `values` of a field, a point for each.
WhatIf over(const std::string& path, const std::vector<std::string>& values) {
  WhatIf s;
  s.scenario = "made up";
  s.knobs = {make_knob({path, values}, "")};
  for (const std::string& v : values) {
    s.points.push_back({{v}, taking(4, "peak_flops"), "S010: no", {}});
  }
  return s;
}

TEST(WhatIfCurves, NumbersOnTheAxisAreThoseThatWereGiven) {
  const std::string svg = whatif_svg(over("workload.sequence_length", {"1024", "8192", "131072"}));
  for (const char* text : {">1024<", ">8192<", ">131072<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
}

TEST(WhatIfCurves, NoLineLeadsOverAPointThatCannotBePlanned) {
  WhatIf s = over("workload.micro_batch", {"1", "2", "4", "8", "16"});
  s.points[2].report.reset();
  EXPECT_EQ(count(whatif_svg(s), "<polyline"), 2U);
}

TEST(WhatIfCurves, CategoriesWithoutRoomSideBySideAreTiltedAndAllNamed) {
  std::vector<std::string> names;
  for (int k = 0; k < 8; ++k) names.push_back("a schedule with a long name " + std::to_string(k));
  const std::string svg = whatif_svg(over("strategy.pipeline.schedule", names));
  EXPECT_EQ(count(svg, "a schedule with a long name"), names.size());
  EXPECT_EQ(count(svg, "transform=\"rotate(-"), names.size());
}

TEST(WhatIfCurves, CategoriesThatWouldLeaveThePictureAreTilted) {
  const std::string wide(26, 'w');  // 170 pixels: beside one another, but not at the edges
  const std::string svg = whatif_svg(over("placement.order", {wide + "1", wide + "2", wide + "3"}));
  EXPECT_EQ(count(svg, "transform=\"rotate(-"), 3U);
}

TEST(WhatIfCurves, ALongTitleIsBrokenIntoLines) {
  WhatIf s = study();
  for (int k = 0; k < 30; ++k) s.scenario += " and on";
  EXPECT_GT(count(whatif_svg(s), "font-weight=\"600\""), 1U);
}

TEST(WhatIfCurves, TextIsEscaped) {
  WhatIf s = study();
  s.scenario = "a<b & \"c\"";
  EXPECT_NE(whatif_svg(s).find("a&lt;b &amp; &quot;c&quot;"), std::string::npos);
}

TEST(WhatIf, TheFirstIsNamedAsTheRowThatItIs) {
  WhatIf s = study();
  EXPECT_NE(whatif_text(s, {kWide, false, true}).find("first is the point below it\n"),
            std::string::npos);
  s.points.front().report.reset();
  EXPECT_NE(whatif_text(s, {kWide, false, true}).find("the point below it that can be planned\n"),
            std::string::npos);
}

}  // namespace plait::whatif_test
