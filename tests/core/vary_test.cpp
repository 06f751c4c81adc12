#include "core/vary.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace plait::vary_test {

using Texts = std::vector<std::string>;

std::string code_of(const std::string& variation) {
  try {
    parse_variation(variation);
  } catch (const InputError& e) {
    return e.text().code;
  }
  return "";
}

TEST(Vary, ListsAndRanges) {
  EXPECT_EQ(parse_variation("strategy.tp=1,2,4").values, (Texts{"1", "2", "4"}));
  EXPECT_EQ(parse_variation("tp=1-8*2").values, (Texts{"1", "2", "4", "8"}));
  EXPECT_EQ(parse_variation("tp=1-7*2").values, (Texts{"1", "2", "4"}));
  EXPECT_EQ(parse_variation("tp=10-999999999999*999999999999").values, (Texts{"10"}));
  EXPECT_EQ(parse_variation("pp=2-4").values, (Texts{"2", "3", "4"}));
  EXPECT_EQ(parse_variation("pp=0-8+4").values, (Texts{"0", "4", "8"}));
  EXPECT_EQ(parse_variation("pp=1-2,16").values, (Texts{"1", "2", "16"}));
}

TEST(Vary, TextsThatOnlyLookLikeRangesStayAsTheyAre) {
  EXPECT_EQ(parse_variation("cluster=hgx-h100,a100-80").values, (Texts{"hgx-h100", "a100-80"}));
  EXPECT_EQ(parse_variation("bw=100 Gb/s,1e-3").values, (Texts{"100 Gb/s", "1e-3"}));
}

TEST(Vary, CommasInsideBracketsAndQuotesDoNotSeparate) {
  EXPECT_EQ(parse_variation("x=[1,2],{\"a\":1,\"b\":2},\"p,q\"").values,
            (Texts{"[1,2]", "{\"a\":1,\"b\":2}", "\"p,q\""}));
}

TEST(Vary, EndlessAndEmptyRangesAreRefused) {
  for (const char* bad : {"tp=8-1", "tp=1-8*1", "tp=0-8*2", "tp=1-8+0", "tp=", "tp=1,,2", "=1",
                          "tp", "tp=0-999999999999"}) {
    EXPECT_EQ(code_of(bad), "G004") << bad;
  }
}

TEST(Vary, CombinationsChangeTheLastKnobFastest) {
  const auto all = combinations({{"a", {"1", "2"}}, {"b", {"x", "y", "z"}}});
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[1], (Assignments{{"a", "1", "-L"}, {"b", "y", "-L"}}));
  EXPECT_EQ(all[3], (Assignments{{"a", "2", "-L"}, {"b", "x", "-L"}}));
  EXPECT_EQ(combinations({}), std::vector<Assignments>(1));
}

TEST(Vary, TooManyCombinationsAreRefusedBeforeTheyAreMade) {
  const Variation thousand{"a", Texts(1000, "1")};
  EXPECT_THROW(combinations({thousand, thousand, thousand}), InputError);
}

TEST(Vary, AFieldComesBeforeThoseInsideOfIt) {
  EXPECT_EQ(outer_first({{"cluster.fabric.bandwidth", "1"}, {"a.b", "2"}, {"cluster", "{}"}}),
            (Assignments{{"cluster", "{}"}, {"a.b", "2"}, {"cluster.fabric.bandwidth", "1"}}));
}

TEST(Vary, LabelsSayOneWordMoreOfFieldsThatEndAlike) {
  EXPECT_EQ(label_of({{"strategy.tp", "4"}, {"strategy.pp", "2"}}), "tp=4 pp=2");
  EXPECT_EQ(label_of({{"a.prefill.tp", "4"}, {"a.prefill.dp", "1"}, {"a.decode.tp", "8"}}),
            "prefill.tp=4 dp=1 decode.tp=8");
  EXPECT_EQ(label_of({{"tp", "4"}, {"decode.tp", "8"}}), "tp=4 decode.tp=8");
}

TEST(Vary, OptionsAreWhatAShellTakesApartAgain) {
  EXPECT_EQ(set_options({{"strategy.tp", "8"}, {"strategy.offload", R"({"optimizer":"cpu"})"}}),
            R"(--set strategy.tp=8 --set strategy.offload='{"optimizer":"cpu"}')");
}

TEST(Vary, AnAssignmentSplitsAtTheFirstEqualsSign) {
  EXPECT_EQ(split_assignment("a.b=c=d"), (Override{"a.b", "c=d"}));
  EXPECT_EQ(split_assignment("a=").value, "");
  EXPECT_THROW(split_assignment("a.b"), InputError);
  EXPECT_THROW(split_assignment("=4"), InputError);
}

}  // namespace plait::vary_test
