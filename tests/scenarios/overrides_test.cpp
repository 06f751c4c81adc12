#include "scenarios/overrides.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "scenarios/scenario.h"

namespace plait::overrides_test {

Scenario with(const std::vector<Override>& overrides, const std::string& node = "hgx-h100") {
  return parse_scenario(R"({"model":"tiny","workload":{"sequence_length":64,"global_batch":64},
                            "cluster":{"preset":")" +
                            node + R"(","nodes":2}})",
                        "s.json", overrides);
}

TEST(OtherNames, MeanTheSameAsTheirPaths) {
  for (const OtherName& n : kOtherNames) {
    const std::string value = n.name.ends_with("bandwidth") ? "100 Gbit/s" : "3 us";
    const Scenario a = with({{std::string(n.name), value}});
    EXPECT_EQ(a.canonical_json, with({{std::string(n.path), value}}).canonical_json) << n.name;
    EXPECT_NE(a.canonical_json, with({}).canonical_json) << n.name;
  }
}

TEST(OtherNames, BandwidthBetweenNodesIsThatOfANic) {
  // 100 Gbit/s are 12.5 GB/s.
  EXPECT_EQ(with({{"cluster.inter_node.bandwidth", "100 Gbit/s"}}).cluster.nic_bandwidth,
            BytesPerSecond(12.5e9));
}

TEST(OtherNames, BandwidthInANodeIsThatOfAllNvlinks) {
  const Scenario s = with({{"cluster.intra_node.bandwidth", "900 GB/s"}});
  EXPECT_DOUBLE_EQ(s.cluster.device.nvlink_bandwidth().value, 900e9);
  EXPECT_EQ(s.cluster.device.nvlink_links, with({}).cluster.device.nvlink_links);
}

TEST(OtherNames, BandwidthOfNvlinksThatAreNotThereIsRefused) {
  try {
    with({{"cluster.intra_node.bandwidth", "900 GB/s"}}, "rtx-4090-8");
    FAIL() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "C008");
    EXPECT_EQ(e.text().cure, "set cluster.device.pcie_bandwidth");
  }
}

/// The refusal of a --set.
InputError::Text refusal_of(const std::string& path, const std::string& value) {
  try {
    with({{path, value}});
  } catch (const InputError& e) {
    return e.text();
  }
  ADD_FAILURE() << path << " is accepted";
  return {};
}

/// A field of a section that is left open: one value where the section's list stands for that
/// field.
TEST(Overrides, ChooseFromTheListOfASection) {
  const auto with_strategy = [](const std::string& strategy, const std::vector<Override>& sets) {
    return parse_scenario(R"({"model":"tiny","workload":{"sequence_length":64,"global_batch":64},
                              "cluster":"hgx-h100","strategy":)" +
                              strategy + "}",
                          "s.json", sets)
        .strategy;
  };
  const std::string open =
      R"({"pp":2,"pipeline":["1f1b","interleaved"],"recompute":["none","selective","full"]})";
  const Strategy chosen = with_strategy(open, {{"strategy.pipeline.schedule", "interleaved"},
                                               {"strategy.pipeline.chunks", "2"},
                                               {"strategy.recompute.kind", "full"}});
  EXPECT_EQ(chosen.pipeline.schedule, Schedule::kInterleaved);
  EXPECT_EQ(chosen.recompute.kind, Recompute::kFull);
  try {
    with_strategy(open, {{"strategy.pipeline.chunks", "1"}, {"strategy.recompute", "none"}});
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "S048");
    EXPECT_EQ(e.text().where.path, "strategy.pipeline.schedule");
  }
}

TEST(OtherNames, MessagesNameThePathThatWasWritten) {
  const InputError::Text text = refusal_of("cluster.inter_node.bandwidth", "100");
  EXPECT_EQ(text.code, "U001");
  EXPECT_EQ(text.where.file, "--set cluster.inter_node.bandwidth=100");
}

TEST(OtherNames, WhatIsNoneOfThemIsToldWhichThereAre) {
  for (const char* path : {"cluster.inter_node", "cluster.inter_node.speed"}) {
    const InputError::Text text = refusal_of(path, "ndr400");
    EXPECT_EQ(text.code, "F005");
    EXPECT_EQ(text.expected, "cluster.inter_node.bandwidth or cluster.inter_node.latency");
    EXPECT_NE(text.cure.find("cluster.fabric"), std::string::npos);
  }
}

TEST(Overrides, AConfigurationIsNoNameOfAModel) {
  EXPECT_NE(
      refusal_of("model", "mine/config.json").cure.find(R"({"hf_config": "mine/config.json"})"),
      std::string::npos);
  EXPECT_NE(refusal_of("model", "acme/new-7x").cure.find("download its config.json"),
            std::string::npos);
  EXPECT_NE(refusal_of("model", "meta-llama/Llama-3.1-8B").cure.find("llama-3.1-8b"),
            std::string::npos);
}

TEST(Overrides, ListsMayHaveLostTheirQuotesToTheShell) {
  EXPECT_EQ(with_quotes("[tp,dp]"), R"(["tp","dp"])");
  EXPECT_EQ(with_quotes("[ tp , dp ]"), R"(["tp","dp"])");
  EXPECT_EQ(with_quotes("[1f1b,zb-h1]"), R"(["1f1b","zb-h1"])");
  EXPECT_EQ(with_quotes("[true,false]"), "[true,false]");
  const std::string long_word(1 << 20, 'a');
  EXPECT_EQ(with_quotes("[" + long_word + "]"), "[\"" + long_word + "\"]");
  for (const char* same : {"[1,2]", R"(["tp"])", "[]", "tp,dp", "100 Gbit/s", "[tp,2]", "{a:b}"}) {
    EXPECT_EQ(with_quotes(same), same);
  }
  EXPECT_EQ(with({{"strategy.pp", "2"}, {"placement.order", "[pp,dp]"}}).placement_words,
            "pp, dp from the inside out");
}

}  // namespace plait::overrides_test
