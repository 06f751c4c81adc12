#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <vector>

#include "tests/topologies/joinable.h"
#include "topologies/catalogue.h"

namespace plait::placement_test {

using Devices = std::vector<std::int64_t>;

/// count devices from `first` on, `stride` apart.
Devices every(std::int64_t stride, std::int64_t count, std::int64_t first = 0) {
  Devices out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(first + i * stride);
  return out;
}

TEST(Placement, AGroupOfOneHasNoPaths) {
  const Cluster c = make_cluster({.preset = "hgx-h100"});
  const GroupPlacement g = place_group(c, Devices{5});
  EXPECT_EQ(g.ranks, 1);
  EXPECT_EQ(g.nodes, 1);
  EXPECT_EQ(g.intra.hops, 0);
  EXPECT_EQ(g.inter.hops, 0);
  EXPECT_FALSE(g.in_switch_reduction);
}

TEST(Placement, AWholeNodeIsOneIslandOnNvlink) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 4});
  const GroupPlacement g = place_group(c, every(1, 8, 16));
  EXPECT_EQ(g.nodes, 1);
  EXPECT_EQ(g.ranks_per_node, 8);
  EXPECT_EQ(g.fewest_per_node, 8);
  EXPECT_DOUBLE_EQ(g.intra.bandwidth.value, 18 * 25e9);
  EXPECT_TRUE(g.in_switch_reduction);
}

TEST(Placement, EachMemberHasItsOwnRail) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 4});
  // 2 members in each of 4 nodes: devices 0, 4, 8, 12, ...
  const GroupPlacement g = place_group(c, every(4, 8));
  EXPECT_EQ(g.nodes, 4);
  EXPECT_EQ(g.ranks_per_node, 2);
  EXPECT_EQ(g.inter.link, LinkClass::kInfiniband);
  EXPECT_EQ(g.inter.bandwidth, c.nic_bandwidth);
  EXPECT_EQ(g.inter.latency, route(c, 0, 8).latency);
}

TEST(Placement, DevicesThatShareANicDivideIt) {
  const Cluster c = make_cluster({.preset = "dgx-v100", .nodes = 2});  // 8 devices, 4 NICs
  EXPECT_DOUBLE_EQ(place_group(c, Devices{0, 8}).inter.bandwidth.value, 12.5e9 / 2);
  EXPECT_DOUBLE_EQ(place_group(c, every(1, 16)).inter.bandwidth.value, 12.5e9 / 2);
}

// Half of what each of four sends, 4/7, crosses to the other socket: 16/7 of a member's rate on the
// link between them, as much as in a ring on all others.
TEST(Placement, AnExchangeSharesTheLinkBetweenSockets) {
  const Cluster c = make_cluster({.preset = "pcie-8"});
  const GroupPlacement all = place_group(c, every(1, 8));
  EXPECT_DOUBLE_EQ(all.intra.bandwidth.value, 24e9 / kPcieShare);
  EXPECT_NEAR(all.intra_exchange.bandwidth.value, 24e9 / kPcieShare * 7 / 16, 1);
  const GroupPlacement socket = place_group(c, every(1, 4));
  EXPECT_EQ(socket.intra_exchange, socket.intra);
}

// Where all are joined by links of their own, a weak one holds up its pair: rings go other ways.
TEST(Placement, AnExchangeWaitsForTheWeakestPair) {
  ClusterSpec spec{.preset = "mi300x-8"};
  EXPECT_DOUBLE_EQ(place_group(make_cluster(spec), every(1, 8)).intra_exchange.bandwidth.value,
                   7 * 64e9);
  spec.faults = {{.at = "node 0: device 0", .to = "node 0: device 1", .factor = 0.1}};
  const GroupPlacement g = place_group(make_cluster(spec), every(1, 8));
  EXPECT_DOUBLE_EQ(g.intra.bandwidth.value, 6.1 * 64e9);
  EXPECT_NEAR(g.intra_exchange.bandwidth.value, 7 * 6.4e9, 1);
}

TEST(Placement, OfUnequalIslandsTheFullestAndTheEmptiestAreKnown) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 2});
  const GroupPlacement g = place_group(c, every(1, 12));
  EXPECT_EQ(g.nodes, 2);
  EXPECT_EQ(g.ranks_per_node, 8);
  EXPECT_EQ(g.fewest_per_node, 4);
}

TEST(Placement, OrderOfMembersDoesNotMatter) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 4});
  const GroupPlacement a = place_group(c, Devices{0, 8, 16}), b = place_group(c, Devices{16, 0, 8});
  EXPECT_EQ(a.nodes, b.nodes);
  EXPECT_EQ(a.inter.latency, b.inter.latency);
}

TEST(Placement, ReductionInTheSwitchNeedsTheThirdNvswitchGeneration) {
  EXPECT_FALSE(place_group(make_cluster({.preset = "dgx-a100"}), every(1, 8)).in_switch_reduction);
  EXPECT_FALSE(place_group(make_cluster({.preset = "pcie-8"}), every(1, 8)).in_switch_reduction);
  EXPECT_TRUE(
      place_group(make_cluster({.preset = "gb200-nvl72"}), every(1, 72)).in_switch_reduction);
}

TEST(Placement, AMemberOfAMeshSendsOverItsLinksToOtherMembers) {
  const Cluster c = make_cluster({.preset = "dgx-v100"});
  EXPECT_DOUBLE_EQ(place_group(c, Devices{0, 3}).intra.bandwidth.value, 2 * 25e9);
  // All eight: six links each.
  EXPECT_DOUBLE_EQ(place_group(c, every(1, 8)).intra.bandwidth.value, 6 * 25e9);
  // The quad 0 to 3: each has 1 + 1 + 2 links inside of it.
  EXPECT_DOUBLE_EQ(place_group(c, every(1, 4)).intra.bandwidth.value, 4 * 25e9);
}

TEST(Placement, BridgedPairsAreNoMeshBeyondThePair) {
  const Cluster c = make_cluster({.preset = "h100-nvl-8"});
  const NodeSpec node = find_node("h100-nvl-8");
  EXPECT_DOUBLE_EQ(place_group(c, Devices{2, 3}).intra.bandwidth.value, 12 * 25e9);
  // Two pairs on one PCIe switch; all four pairs, across the sockets.
  EXPECT_EQ(place_group(c, every(1, 4)).intra.bandwidth, node.pcie_bandwidth);
  EXPECT_EQ(place_group(c, every(1, 8)).intra.bandwidth, node.socket_bandwidth / kPcieShare);
  EXPECT_EQ(place_group(c, every(1, 8)).intra.link, LinkClass::kPcie);
  // Four GH200, each joined to each by six links.
  const Cluster four = make_cluster({.preset = "gh200-4"});
  EXPECT_DOUBLE_EQ(place_group(four, every(1, 4)).intra.bandwidth.value, 3 * 6 * 25e9);
}

TEST(Placement, AcrossSocketsThePcieBoxIsAsNarrowAsTheirLink) {
  const Cluster c = make_cluster({.preset = "pcie-8"});
  EXPECT_EQ(place_group(c, every(1, 4)).intra.bandwidth, find_device("l40s").pcie_bandwidth);
  EXPECT_EQ(place_group(c, every(1, 8)).intra.bandwidth,
            find_node("pcie-8").socket_bandwidth / kPcieShare);
}

// Devices 0-3 are on one socket and 4-7 on the other.
TEST(Placement, GroupsThatCrossTheSameLinkOfANodeDivideIt) {
  const Cluster c = make_cluster({.preset = "pcie-8"});
  const double link = find_node("pcie-8").socket_bandwidth.value / kPcieShare;
  for (const std::int64_t first : {0, 1, 3}) {
    const GroupPlacement pair = place_group(c, every(4, 2, first));  // one of {d, d + 4}
    EXPECT_DOUBLE_EQ(pair.intra.bandwidth.value, link / 4);
    EXPECT_DOUBLE_EQ(pair.intra_alone.bandwidth.value, link);
  }
  EXPECT_DOUBLE_EQ(place_group(c, every(2, 4)).intra.bandwidth.value, link / 2);
  EXPECT_EQ(place_group(c, every(1, 2, 2)).intra.bandwidth, find_device("l40s").pcie_bandwidth);
}

/// Cards that send through the host, four behind each PCIe switch, with a NIC each on `nodes`
/// nodes.
Cluster through_host(std::int64_t nodes) {
  Device card = find_device("l40s");
  card.peer_access = false;
  NodeSpec node = find_node("pcie-8");
  node.nics = 8;
  return make_cluster({.nodes = nodes, .fabric = "ndr400", .device = card, .own_node = node});
}

TEST(Placement, CardsThatSendThroughTheHostShareTheUplinkOfTheirSwitch) {
  const Cluster c = through_host(1);
  const double up = find_node("pcie-8").pcie_bandwidth.value;
  EXPECT_DOUBLE_EQ(place_group(c, every(1, 4)).intra_alone.bandwidth.value, up / 4);
  EXPECT_DOUBLE_EQ(place_group(c, every(1, 2)).intra_alone.bandwidth.value, up / 2);
  EXPECT_DOUBLE_EQ(place_group(c, every(1, 2)).intra.bandwidth.value, up / 4);  // beside a pair
  // Of each four that exchange data with all eight every one sends all that it has up.
  EXPECT_DOUBLE_EQ(place_group(c, every(1, 8)).intra_exchange.bandwidth.value, up / 4);
}

// To its NIC each of the four sends up and down again, and so does the NIC what it receives.
TEST(Placement, WhatGoesThroughTheHostToTheNicsCrossesTheUplinkTwice) {
  const Cluster c = through_host(2);
  const double up = find_node("pcie-8").pcie_bandwidth.value;
  EXPECT_DOUBLE_EQ(place_group(c, every(1, 16)).inter.bandwidth.value, up / (4 * 2));
  EXPECT_DOUBLE_EQ(place_group(c, every(8, 2)).inter.bandwidth.value, up / (4 * 2));
  EXPECT_DOUBLE_EQ(place_group(c, every(8, 2)).inter_alone.bandwidth.value, up / 2);
}

TEST(Placement, OversubscriptionBindsGroupsWithFewNodesInEachPod) {
  // Pods of 4 nodes, leafs 4 : 1, NICs of B. Groups with k nodes in each of 2 pods: 4 / k of them
  // share the one cable's worth of bandwidth up, so each has B * k / 4.
  const Cluster c =
      make_cluster({.preset = "hgx-h100", .nodes = 8, .nodes_per_pod = 4, .oversubscription = 4});
  const double b = c.nic_bandwidth.value;
  const GroupPlacement one = place_group(c, every(32, 2));
  EXPECT_EQ(one.pods, 2);
  EXPECT_DOUBLE_EQ(one.inter.bandwidth.value, b / 4);
  EXPECT_DOUBLE_EQ(place_group(c, every(16, 4)).inter.bandwidth.value, b / 2);
  EXPECT_DOUBLE_EQ(place_group(c, every(8, 8)).inter.bandwidth.value, b);
  EXPECT_DOUBLE_EQ(place_group(c, every(8, 4)).inter.bandwidth.value, b);  // one pod: no spine
}

RC_GTEST_PROP(Placement, IsTheSameOnePeriodLater, ()) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 12, .nodes_per_pod = 3});
  const std::int64_t period = symmetry_period(c);
  Devices here =
      *rc::gen::nonEmpty(rc::gen::unique<Devices>(rc::gen::inRange<std::int64_t>(0, 72)));
  std::sort(here.begin(), here.end());
  Devices there = here;
  for (std::int64_t& d : there) d += period;
  const GroupPlacement a = place_group(c, here), b = place_group(c, there);
  RC_ASSERT(a.nodes == b.nodes && a.pods == b.pods && a.ranks_per_node == b.ranks_per_node);
  RC_ASSERT(a.intra.bandwidth == b.intra.bandwidth && a.intra.latency == b.intra.latency);
  RC_ASSERT(a.inter.bandwidth == b.inter.bandwidth && a.inter.latency == b.inter.latency);
}

RC_GTEST_PROP(Placement, NoMemberHasMoreThanItsRoute, ()) {
  const auto names = joinable_names();
  const std::string name = *rc::gen::elementOf(names);
  const Cluster c = make_cluster({.preset = name, .nodes = 4, .nodes_per_pod = 2});
  const Devices group = *rc::gen::nonEmpty(
      rc::gen::unique<Devices>(rc::gen::inRange<std::int64_t>(0, c.world_size())));
  const GroupPlacement g = place_group(c, group);
  RC_ASSERT(g.nodes * g.ranks_per_node >= g.ranks);
  RC_ASSERT((g.nodes > 1) == (g.inter.hops > 0));
  RC_ASSERT((g.ranks_per_node > 1) == (g.intra.hops > 0));
  if (g.nodes > 1) RC_ASSERT(g.inter.carried() <= c.nic_bandwidth && g.inter.bandwidth.value > 0);
}

}  // namespace plait::placement_test
