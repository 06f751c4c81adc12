// What records say of the network between nodes, and the fabric that a scenario gets.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/published/fabric_words.h"
#include "scenarios/published/scenario_of.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_fabrics_test {

using nlohmann::json;

struct Words {
  std::string text;
  std::int64_t nics;
  double gigabits;
  bool ethernet;
  bool efa = false;
};

TEST(PublishedFabrics, AreReadOfTheirWords) {
  const Words words[] = {
      {"8x HDR 200 Gb/s IB per node", 8, 200, false},
      {"NVLink4; InfiniBand 8x50 GB/s per node", 8, 400, false},
      {"1600 Gbps node-node interconnect (RoCE)", 8, 200, true},
      {"400 Gb/s RDMA per GPU", 8, 400, false},
      {"NVLink; 1x IB EDR 100 Gb/s per node", 1, 100, false},
      {"4 Omni-Path (OPA) links per node; 100 Gb/s per link", 4, 100, false},
      {"2x27.1Gb/s Omni-Path per node", 2, 27.1, false},
      {"inter_node_bandwidth 800 Gb/s per node", 8, 100, false},
      {"InfiniBand 200 Gb/s", 0, 200, false},
      {"NVLink; RoCE RDMA (rate not stated)", 0, 0, true},
      {"NVLink4; EFA across nodes", 0, 0, false, true},
      {"NDR InfiniBand", 0, 400, false},
      {"4x HDR200 InfiniBand per node", 4, 200, false},
      {"NVLink 3 (600 GB/s), 8x200Gbps", 8, 200, false},
      {"8x Mellanox ConnectX-7 400Gb/s", 8, 400, false},
      {"3.2 Tb/s RDMA per node", 8, 400, false},
      {"8x 400G RoCE", 8, 400, true},
      {"25GbE", 0, 25, true},
      {"4 x 100Gb RoCE per node", 4, 100, true},
      {"4 * 100Gb", 4, 100, false},
      {"3.2Tbps RoCEv2 per node", 8, 400, true},
      {"InfiniBand 3.2 Tbps", 8, 400, false},
      {"InfiniBand, 1600 Gbps", 8, 200, false},
      {"EFA 3200 Gbps per instance", 8, 400, false, true},
      {"25 GB/s per GPU", 8, 200, false},
      {"NVLink 900 GB/s per GPU; 400 GB/s per node", 8, 400, false},
      {"one 200 Gb/s HCA", 1, 200, false},
      {"single 100Gb NIC per node", 1, 100, false},
      {"dual-rail EDR", 2, 100, false},
      {"Slingshot-11", 0, 200, true},
      {"4x HDR InfiniBand", 4, 200, false},
      {"4X HDR InfiniBand", 0, 200, false},
      {"4 x HDR IB (200Gb/s) per node, NVSwitch", 4, 200, false},
      {"200Gbps RoCE x 4", 4, 200, true},
      {"1x NDR per GPU", 0, 400, false},
      {"1x 400 Gb/s IB per GPU", 8, 400, false},
      {"100 Gbit/s", 0, 100, false},
      {"100 Gbit/s Ethernet", 0, 100, true},
      {"10 Gbit Ethernet", 0, 10, true},
      {"10GigE", 0, 10, true},
      {"100 gbps", 0, 100, false},
      {"12.5 GB/s", 0, 100, false},
      {"25 GB/s InfiniBand", 0, 200, false},
      {"NVLink and 25 GB/s InfiniBand", 0, 200, false},
      {"900 GB/s NVLink; 50 GB/s per GPU", 8, 400, false},
      {"1.6Tbit/s", 8, 200, false},
      {"1.6T", 8, 200, false},
      {"100 Gigabit Ethernet", 0, 100, true},
      {"2.5 Gbit/s", 0, 2.5, false},
      {"ROCE 100G", 0, 100, true},
      {"InfiniBand 200G, no RoCE", 0, 200, false},
      {"Slingshot-11 (4 NICs)", 4, 200, true},
      {"800 Gb/s per node (4 NICs)", 4, 200, false},
      {"800Gb/s Ethernet (8x100)", 8, 100, true},
      {"PCIe only, no NVLink; 200G IB", 0, 200, false},
      {"8x A100-80G; 200G IB", 0, 200, false},
  };
  for (const Words& w : words) {
    const FabricWords read = read_fabric(w.text, 8);
    EXPECT_EQ(read.nics, w.nics) << w.text;
    EXPECT_EQ(read.gigabits, w.gigabits) << w.text;
    EXPECT_EQ(read.ethernet, w.ethernet) << w.text;
    EXPECT_EQ(read.efa, w.efa) << w.text;
  }
}

TEST(PublishedFabrics, WhatIsSaidOfAFabricWithoutItsRateIsTaken) {
  json record = published_sample();
  record["cluster"]["gpu"] = "H100-SXM5-80GB";
  using Machine = std::pair<std::string, std::string>;
  const auto machine = [&record](const char* words) {
    record["cluster"]["interconnect"] = words;
    const json cluster = json::parse(scenario_of(run_of(record)).json)["cluster"];
    return Machine(cluster["preset"], cluster.value("fabric", "the usual one"));
  };
  EXPECT_EQ(machine("NVLink4"), Machine("hgx-h100", "the usual one"));
  EXPECT_EQ(machine("RoCE"), Machine("hgx-h100", "roce400"));
  EXPECT_EQ(machine("EFA across nodes"), Machine("aws-p5", "the usual one"));
  EXPECT_EQ(machine("EFA, 8x 400 Gb/s"), Machine("aws-p5", "efa400"));
  EXPECT_EQ(machine("4x100Gb/s Omni-Path per node"), Machine("hgx-h100", "opa100"));
}

TEST(PublishedFabrics, OfOtherRatesThanUsualSayTheirs) {
  json record = published_sample();
  record["cluster"]["interconnect"] = "25GbE";
  EXPECT_EQ(json::parse(scenario_of(run_of(record)).json)["cluster"]["fabric"],
            json::parse(R"({"preset": "roce100", "bandwidth": "3.125 GB/s"})"));
  record["cluster"]["interconnect"] = "HDR";
  EXPECT_EQ(json::parse(scenario_of(run_of(record)).json)["cluster"]["fabric"], "hdr200");
  parse_scenario(scenario_of(run_of(record)).json, "sample");
}

TEST(PublishedFabrics, NumbersThatAreNoRateAreListed) {
  json record = published_sample();
  const auto lists = [&record](const char* words) {
    record["cluster"]["interconnect"] = words;
    return assumes(record, std::string("not read: cluster.interconnect (\"") + words + "\")");
  };
  EXPECT_TRUE(lists("12 lanes of something"));
  EXPECT_TRUE(lists("200 gigs"));
  EXPECT_TRUE(lists("200G IB, oversubscribed"));
  for (const char* named : {"NVLink 4; RoCEv2", "NVLink4; EFA", "ConnectX-7, PCIe 5.0",
                            "NVL72; every 32 GPUs", "up to 4 nodes over RoCE", "200G IB"})
    EXPECT_FALSE(lists(named)) << named;
}

TEST(PublishedFabrics, OversubscriptionIsThatOfLeafSwitches) {
  json record = published_sample();
  record["cluster"]["interconnect"] = "200 Gb/s IB, oversubscribed 2:1";
  EXPECT_EQ(scenario(record)["cluster"]["fabric"],
            json::parse(R"({"preset": "hdr200", "oversubscription": 2})"));
  parse_scenario(scenario_of(run_of(record)).json, "sample");
  record["cluster"]["interconnect"] = "200 Gb/s IB, not oversubscribed";
  EXPECT_EQ(scenario(record)["cluster"]["fabric"], "hdr200");
}

TEST(PublishedFabrics, WithoutNvlinkBoardsAreThoseForPcieOrItIsListed) {
  json record = published_sample();
  record["cluster"].update(
      {{"gpu", "A100 80GB"}, {"interconnect", "PCIe only, no NVLink; 200G IB"}});
  EXPECT_EQ(scenario(record)["cluster"]["device"], "a100-80-pcie");
  EXPECT_EQ(scenario(record)["cluster"]["preset"], "pcie-8");
  record["cluster"]["gpu"] = "A100-SXM4-80GB";
  EXPECT_EQ(scenario(record)["cluster"]["preset"], "dgx-a100");
  EXPECT_TRUE(assumes(record,
                      "not read: cluster.interconnect (\"PCIe only, no NVLink; 200G IB\": dgx-a100 "
                      "has NVLink)"));
}

}  // namespace plait::published_fabrics_test
