// What workload.precision says of products in few bits, and what has no effect without them.
#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/scenario.h"

namespace plait::narrow_precision_test {

Scenario parsed(const std::string& precision, std::vector<Override> more = {}) {
  more.push_back({"workload.precision", precision});
  return parse_scenario(
      R"({"name":"s","model":"tiny","workload":{"sequence_length":64,"global_batch":16},
          "strategy":{},"cluster":{"preset":"hgx-h100","nodes":1}})",
      "s.json", more);
}

/// The only warning is of that field.
void expect_idle(const Scenario& s, const std::string& field) {
  ASSERT_EQ(s.warnings.size(), 1U);
  EXPECT_EQ(s.warnings[0].code, "W001");
  EXPECT_EQ(s.warnings[0].path, field);
}

TEST(NarrowPrecision, PlainLayersStandAtTheEndsOfWhatIsNarrowed) {
  const Scenario s = parsed(R"({"matmul":"nvfp4","plain_first":1,"plain_last":2})");
  EXPECT_TRUE(s.warnings.empty());
  std::vector<bool> plain;
  for (std::int64_t l = 0; l < 5; ++l) plain.push_back(s.workload.precision.is_plain(l, 5));
  EXPECT_EQ(plain, (std::vector<bool>{true, false, false, true, true}));
  const Scenario idle = parsed(R"({"plain_last":2})");
  expect_idle(idle, "workload.precision.plain_last");
  EXPECT_FALSE(idle.workload.precision.is_plain(4, 5));
}

TEST(NarrowPrecision, WeightsAreKeptNarrowWhereProductsAre) {
  const Scenario s = parsed(R"({"matmul":"fp8","narrow_weights":"gathered"})");
  EXPECT_TRUE(s.warnings.empty());
  EXPECT_TRUE(s.workload.precision.keeps_narrow());
  const Scenario idle = parsed(R"({"narrow_weights":"gathered"})");
  expect_idle(idle, "workload.precision.narrow_weights");
  EXPECT_FALSE(idle.workload.precision.keeps_narrow());
}

TEST(NarrowPrecision, ScalesAreEarlyWhereWeightsAreGatheredNarrow) {
  const std::vector<Override> early = {{"strategy.fsdp", "8"},
                                       {"strategy.fsdp_options.early_scales", "true"}};
  EXPECT_TRUE(parsed(R"({"matmul":"fp8","narrow_weights":"gathered"})", early).warnings.empty());
  expect_idle(parsed(R"({"matmul":"fp8"})", early), "strategy.fsdp_options.early_scales");
}

TEST(NarrowPrecision, AbsentFieldsLeaveTheHashOfAScenarioAsItWas) {
  const std::string text = parsed(R"({"matmul":"fp8"})").canonical_json;
  EXPECT_EQ(text.find("narrow_weights"), std::string::npos);
  EXPECT_EQ(text.find("early_scales"), std::string::npos);
  EXPECT_EQ(text, parsed(R"({"matmul":"fp8","narrow_weights":"none"})").canonical_json);
  EXPECT_NE(text, parsed(R"({"matmul":"fp8","narrow_weights":"gathered"})").canonical_json);
}

}  // namespace plait::narrow_precision_test
