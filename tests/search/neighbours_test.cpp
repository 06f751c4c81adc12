#include "search/neighbours.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plait::neighbours_test {

Scenario scenario_with(const std::string& strategy) {
  return parse_scenario(
      R"({"model": "gpt2", "workload": {"sequence_length": 128, "global_batch": 64},
          "cluster": {"preset": "dgx-a100"}, "strategy": )" +
          strategy + "}",
      "x");
}

std::vector<std::vector<Override>> of_decision(const std::string& decision,
                                               const std::string& strategy) {
  std::vector<std::vector<Override>> out;
  for (const Neighbour& n : neighbours(scenario_with(strategy))) {
    if (n.decision == decision) out.push_back(n.sets);
  }
  return out;
}

TEST(Neighbours, SchedulesAreThoseOfAPipeline) {
  EXPECT_TRUE(of_decision("schedule", R"({"tp": 2})").empty());
  EXPECT_FALSE(of_decision("schedule", R"({"pp": 2})").empty());
}

TEST(Neighbours, SizesAreHalvedToOneAndGrowFourfold) {
  const auto splits = of_decision("split", R"({"tp": 4})");
  for (const char* tp : {"1", "2", "8", "16"}) {
    EXPECT_EQ(std::ranges::count(splits, std::vector<Override>{{"strategy.tp", tp}}), 1) << tp;
  }
}

TEST(Neighbours, NoneSaysWhatTheScenarioSays) {
  const std::string strategy = R"({"tp": 2, "pp": 2, "recompute": "full"})";
  for (const Neighbour& n : neighbours(scenario_with(strategy))) {
    EXPECT_EQ(std::ranges::count(n.sets, Override{"strategy.recompute", "full"}), 0);
    EXPECT_NE(n.sets, (std::vector<Override>{{"strategy.tp", "2"}}));
    EXPECT_NE(n.sets, (std::vector<Override>{{"strategy.pp", "2"}}));
  }
}

}  // namespace plait::neighbours_test
