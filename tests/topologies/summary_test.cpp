// Machines that are simple enough to be summed up by hand.
#include "topologies/summary.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "tests/topologies/joinable.h"
#include "topologies/catalogue.h"
#include "topologies/node_spec.h"

namespace plait::summary_test {

double nvlink_of(const Cut& cut) { return cut.by_class[int(LinkClass::kNvlink)].value; }

const LinkCount& links_between(const TopologySummary& s, VertexKind from, VertexKind to,
                               LinkClass link) {
  const auto at = std::find_if(s.links.begin(), s.links.end(), [&](const LinkCount& l) {
    return l.from == from && l.to == to && l.link == link;
  });
  EXPECT_NE(at, s.links.end());
  return *at;
}

const Diversity& scope_of(const TopologySummary& s, const std::string& scope) {
  const auto at = std::find_if(s.diversity.begin(), s.diversity.end(),
                               [&](const Diversity& d) { return d.scope == scope; });
  EXPECT_NE(at, s.diversity.end()) << scope;
  return *at;
}

TEST(Summary, AnNvswitchIslandHasAllNvlinksOfHalfItsDevicesBetweenItsHalves) {
  const TopologySummary s = summarize(make_cluster({.preset = "hgx-h100"}));
  ASSERT_EQ(s.cuts.size(), 1U);
  EXPECT_DOUBLE_EQ(nvlink_of(s.cuts[0]), 4 * 18 * 25e9);
  // Sockets 0 and 1 hold the halves, so the rest is the link between them.
  EXPECT_DOUBLE_EQ(s.cuts[0].bandwidth.value,
                   4 * 18 * 25e9 + find_node("hgx-h100").socket_bandwidth.value / kPcieShare);
}

TEST(Summary, AHybridCubeMeshIsCutInSixNvlinks) {
  const TopologySummary s = summarize(make_cluster({.preset = "dgx-v100"}));
  std::int64_t links = 0;
  for (const MeshLink& m : find_node("dgx-v100").mesh)
    links += (m.a < 4) != (m.b < 4) ? m.links : 0;
  EXPECT_EQ(links, 6);
  EXPECT_DOUBLE_EQ(nvlink_of(s.cuts[0]), 6 * 25e9);
}

TEST(Summary, APcieBoxIsCutBetweenItsSockets) {
  const TopologySummary s = summarize(make_cluster({.preset = "pcie-8"}));
  EXPECT_DOUBLE_EQ(s.cuts[0].bandwidth.value,
                   find_node("pcie-8").socket_bandwidth.value / kPcieShare);
}

TEST(Summary, HalvesOfAFatTreeExchangeWhatTheirNicsSendOverTheOversubscription) {
  for (const double o : {1.0, 2.0, 4.0}) {
    const Cluster c =
        make_cluster({.preset = "hgx-h100", .nodes = 8, .nodes_per_pod = 4, .oversubscription = o});
    const TopologySummary s = summarize(c);
    ASSERT_EQ(s.cuts.size(), 2U);
    const double nics = 4 * 8 * c.nic_bandwidth.value;
    EXPECT_DOUBLE_EQ(s.cuts[1].injection.value, nics);
    EXPECT_NEAR(s.cuts[1].bandwidth.value, nics / o, 1e3);
    EXPECT_NEAR(s.cuts[1].oversubscription(), o, 1e-6);
    ASSERT_EQ(s.oversubscription.size(), 1U);
    EXPECT_NEAR(s.oversubscription[0].ratio, o, 1e-9);
  }
}

TEST(Summary, ATorusIsCutInTwoCablesPerColumn) {
  // Halves of 4 x 4 switches: each of 4 columns is cut at two places, as its ends are joined.
  Fabric fabric = find_fabric("ndr400");
  fabric.topology = Topology::kTorus;
  fabric.dimensions = {4, 4};
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 16, .own_fabric = fabric});
  const TopologySummary s = summarize(c);
  EXPECT_DOUBLE_EQ(s.cuts[1].bandwidth.value, 4 * 2 * fabric.bandwidth.value);
  EXPECT_TRUE(s.oversubscription.empty());
}

TEST(Summary, EachLevelOfATreeHasItsOversubscription) {
  Fabric fabric = find_fabric("ndr400");
  fabric.levels = 3, fabric.nodes_per_pod = 4, fabric.pods_per_block = 2;
  fabric.oversubscription = 2, fabric.spine_oversubscription = 4;
  const TopologySummary s =
      summarize(make_cluster({.preset = "hgx-h100", .nodes = 16, .own_fabric = fabric}));
  ASSERT_EQ(s.oversubscription.size(), 2U);
  EXPECT_NEAR(s.oversubscription[0].ratio, 2, 1e-9);
  EXPECT_NEAR(s.oversubscription[1].ratio, 4, 1e-9);
  EXPECT_NEAR(s.cuts[1].oversubscription(), 2 * 4, 1e-6);
}

TEST(Summary, AFailedNicIsMissingFromTheLinks) {
  const auto cables = [](std::vector<Fault> faults) {
    const TopologySummary s =
        summarize(make_cluster({.preset = "hgx-h100", .nodes = 2, .faults = std::move(faults)}));
    std::int64_t count = 0;
    for (const LinkCount& l : s.links) {
      if (l.from == VertexKind::kNic && l.to == VertexKind::kLeaf && l.bandwidth.value > 0) {
        count += l.count;
      }
    }
    return count;
  };
  EXPECT_EQ(cables({}), 16);
  EXPECT_EQ(cables({{.at = "node 1: nic 2"}}), 15);
}

TEST(Summary, TheLinksThatLimitACutAddUpToIt) {
  for (const std::string& name : joinable_names()) {
    SCOPED_TRACE(name);
    for (const Cut& cut :
         summarize(make_cluster({.preset = name, .nodes = 3, .nodes_per_pod = 2})).cuts) {
      double sum = 0;
      for (const BytesPerSecond b : cut.by_class) sum += b.value;
      EXPECT_DOUBLE_EQ(sum, cut.bandwidth.value);
      EXPECT_GT(sum, 0);
    }
  }
}

TEST(Summary, LinksAreCountedOnce) {
  const TopologySummary s = summarize(make_cluster({.preset = "hgx-h100", .nodes = 64}));
  const auto count = [&](VertexKind a, VertexKind b, LinkClass link) {
    return links_between(s, a, b, link).count;
  };
  EXPECT_EQ(count(VertexKind::kDevice, VertexKind::kNvSwitch, LinkClass::kNvlink), 64 * 8);
  EXPECT_EQ(count(VertexKind::kNic, VertexKind::kLeaf, LinkClass::kInfiniband), 64 * 8);
  // Two pods of 8 leafs, each with 32 cables up.
  EXPECT_EQ(count(VertexKind::kLeaf, VertexKind::kSpine, LinkClass::kInfiniband), 2 * 8 * 32);
  EXPECT_EQ(count(VertexKind::kHost, VertexKind::kHost, LinkClass::kPcie), 64);
}

TEST(Summary, TheDiameterIsTheRouteOverAnotherRail) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 64});
  const Diameter d = diameter_of(c);
  // PCIe switch, NIC, leaf, spine, leaf, NIC, PCIe switch, device.
  EXPECT_EQ(d.hops, 8);
  EXPECT_EQ(d.latency, route(c, 0, 32 * 8).latency);
  EXPECT_EQ(route(c, d.from, d.to).latency, d.latency);
}

TEST(Summary, TheDiameterOfANodeIsTwoHopsOverItsSwitch) {
  EXPECT_EQ(diameter_of(make_cluster({.preset = "hgx-h100"})).hops, 2);
}

TEST(Summary, WaysAcrossPodsAreNicsTimesSpinesTimesNics) {
  const TopologySummary s = summarize(make_cluster({.preset = "hgx-h100", .nodes = 64}));
  const std::int64_t nics = 2, spines = 32;  // on a device's PCIe switch; cables up from a leaf
  const ShortestWays& across = scope_of(s, "across pods").ways;
  EXPECT_EQ(across.hops, 8);
  EXPECT_EQ(across.ways, nics * spines * nics);
  EXPECT_EQ(across.disjoint, 1);  // all of them over the PCIe link of the device
  EXPECT_EQ(across.disjoint_in_fabric, nics * spines);
  const ShortestWays& rail = scope_of(s, "in a pod, same place").ways;
  EXPECT_EQ(rail.ways, nics);  // each with the leaf of its rail
  EXPECT_EQ(rail.disjoint_in_fabric, 0);
}

TEST(Summary, NeighboursInAMeshHaveOneDirectWay) {
  const Cluster c = make_cluster({.preset = "dgx-v100"});
  const Machine m = expand(*c.graph);
  const ShortestWays w = shortest_ways(m.links, m.devices[0], m.devices[3]);
  EXPECT_EQ(w.hops, 1);
  EXPECT_EQ(w.ways, 1);
  EXPECT_EQ(w.latency, route(c, 0, 3).latency);
}

/// A square of switches between two devices: two ways of three links that share the outer ones.
TEST(ShortestWays, ASquareHasTwoWaysThatMeetAtTheDevices) {
  LinkGraph g;
  const VertexId a = boost::add_vertex({VertexKind::kDevice, 0, {}}, g);
  const VertexId b = boost::add_vertex({VertexKind::kDevice, 1, {}}, g);
  std::vector<VertexId> leafs;
  for (int i = 0; i < 4; ++i) leafs.push_back(boost::add_vertex({VertexKind::kLeaf, i, {}}, g));
  const auto link = [&](VertexId from, VertexId to, double ns) {
    add_link(g, from, to, LinkClass::kInfiniband, BytesPerSecond(1e9), Seconds(ns * 1e-9));
  };
  link(a, leafs[0], 10), link(leafs[0], leafs[1], 10), link(leafs[1], leafs[3], 10);
  link(leafs[0], leafs[2], 10), link(leafs[2], leafs[3], 10), link(leafs[3], b, 10);
  const ShortestWays equal = shortest_ways(g, a, b);
  EXPECT_EQ(equal.ways, 2);
  EXPECT_EQ(equal.disjoint, 1);
  EXPECT_EQ(equal.disjoint_in_fabric, 2);
  link(leafs[0], leafs[3], 5);  // a shorter one
  EXPECT_EQ(shortest_ways(g, a, b).ways, 1);
}

TEST(Summary, LinksWithoutLatencyDoNotMakeCircles) {
  NodeSpec node = find_node("hgx-h100");
  node.nvlink_latency = node.pcie_latency = node.pcie_switch_latency = node.socket_latency =
      node.socket_link_latency = Seconds(0);
  Fabric fabric = find_fabric("ndr400");
  fabric.nic_latency = fabric.switch_latency = fabric.cable_latency = Seconds(0);
  fabric.nodes_per_pod = 1;
  const TopologySummary s =
      summarize(make_cluster({.nodes = 2, .own_node = node, .own_fabric = fabric}));
  EXPECT_GE(scope_of(s, "across pods").ways.ways, 1);
}

TEST(Summary, AThousandDevicesAreSummedUpAndTooManyRefused) {
  EXPECT_EQ(summarize(make_cluster({.preset = "hgx-h100", .nodes = 128})).devices, 1024);
  try {
    summarize(make_cluster({.preset = "hgx-h100", .nodes = 1 << 15}));
    FAIL();
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "T001");
  }
}

}  // namespace plait::summary_test
