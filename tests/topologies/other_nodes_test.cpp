// Nodes of several kinds on one fabric.
#include <gtest/gtest.h>

#include "core/error.h"
#include "topologies/catalogue.h"
#include "topologies/graph.h"
#include "topologies/network.h"

namespace plait::other_nodes_test {

OtherNodes nodes(std::int64_t first, std::int64_t last, const std::string& preset) {
  const NodeSpec node = find_node(preset);
  return {first, last, node, find_device(node.device)};
}

/// Four nodes of eight; those of `others` are no HGX H100.
Cluster with(std::vector<OtherNodes> others) {
  return make_cluster({.preset = "hgx-h100", .nodes = 4, .other_nodes = std::move(others)});
}

InputError::Text error_of(std::vector<OtherNodes> others) {
  try {
    with(std::move(others));
  } catch (const InputError& e) {
    return e.text();
  }
  return {};
}

std::string code_of(std::vector<OtherNodes> others) { return error_of(std::move(others)).code; }

GroupPlacement group(const Cluster& c, std::vector<std::int64_t> devices) {
  return place_group(c, devices);
}

TEST(OtherNodes, EachDeviceKnowsItsKind) {
  const Cluster c = with({nodes(1, 1, "dgx-a100"), nodes(3, 3, "hgx-b200")});
  ASSERT_EQ(c.kinds(), 3U);
  EXPECT_EQ(c.kind(c.kind_of(7)).device.name, find_node("hgx-h100").device);
  EXPECT_EQ(c.kind(c.kind_of(8)).device.name, find_node("dgx-a100").device);
  EXPECT_EQ(c.kind(c.kind_of(15)).cpu, find_node("dgx-a100").cpu);
  EXPECT_EQ(c.kind(c.kind_of(16)).device.name, find_node("hgx-h100").device);
  EXPECT_EQ(c.kind(c.kind_of(31)).device.name, find_node("hgx-b200").device);
  EXPECT_DOUBLE_EQ(c.share(0), 0.5);
  EXPECT_DOUBLE_EQ(c.share(0) + c.share(1) + c.share(2), 1);
}

TEST(OtherNodes, AGroupIsAsGoodAsItsWeakestMember) {
  const Cluster c = with({nodes(2, 3, "dgx-a100")});
  const Cluster a100 = make_cluster({.preset = "dgx-a100", .nodes = 4, .fabric = "ndr400"});
  const GroupPlacement both = group(c, {6, 7, 16, 17});
  EXPECT_EQ(both.kind, 1U);
  EXPECT_FALSE(both.in_switch_reduction);
  EXPECT_EQ(both.intra.bandwidth, group(a100, {0, 1}).intra.bandwidth);
  const GroupPlacement modern = group(c, {6, 7, 8, 9});
  EXPECT_EQ(modern.kind, 0U);
  EXPECT_TRUE(modern.in_switch_reduction);
  EXPECT_GT(modern.intra.bandwidth, both.intra.bandwidth);
}

TEST(OtherNodes, RoutesInsideOfANodeAreThoseOfItsKind) {
  const Cluster c = with({nodes(1, 1, "dgx-a100")});
  const Cluster a100 = make_cluster({.preset = "dgx-a100"});
  EXPECT_EQ(route(c, 8, 9).bandwidth, route(a100, 0, 1).bandwidth);
  EXPECT_EQ(route(c, 16, 17).bandwidth, route(make_cluster({}), 0, 1).bandwidth);
}

TEST(OtherNodes, MessagesCrossLinksOfBothKinds) {
  const Cluster c = with({nodes(1, 1, "dgx-a100")});
  const auto network = make_network(c);
  std::vector<LinkId> links;
  network->route(0, 8, 0, links);
  double narrowest = 1e30;
  for (const LinkId l : links) narrowest = std::min(narrowest, network->links()[l].bandwidth.value);
  EXPECT_DOUBLE_EQ(narrowest, route(c, 0, 8).bandwidth.value);
}

TEST(OtherNodes, NoTwoPartsOfTheMachineNeedLookAlike) {
  EXPECT_EQ(symmetry_period(with({nodes(1, 1, "dgx-a100")})), 32);
}

TEST(OtherNodes, FaultsAreOfTheNodeThatTheyAreIn) {
  ClusterSpec spec{.preset = "hgx-h100", .nodes = 4, .other_nodes = {nodes(1, 1, "dgx-a100")}};
  const double whole = route(make_cluster(spec), 8, 9).bandwidth.value;
  spec.faults = {{.at = "node 1: device 1", .to = "node 1: nvswitch 0", .factor = 0.5}};
  const Cluster c = make_cluster(spec);
  EXPECT_DOUBLE_EQ(route(c, 8, 9).bandwidth.value, whole / 2);
  EXPECT_EQ(c.kind(c.kind_of(8)).device.name, find_node("dgx-a100").device);
}

TEST(OtherNodes, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(code_of({nodes(3, 4, "dgx-a100")}), "C011");
  const InputError::Text backwards = error_of({nodes(2, 1, "dgx-a100")});
  EXPECT_EQ(backwards.code, "C011");
  EXPECT_EQ(backwards.problem, "nodes 2 to 1 run backwards");
  EXPECT_EQ(backwards.cure, "write \"nodes\": [1, 2]");
  EXPECT_EQ(code_of({nodes(0, 1, "dgx-a100"), nodes(1, 2, "hgx-b200")}), "C011");
  EXPECT_EQ(code_of({nodes(1, 1, "dgx-v100")}), "C011") << "four NICs";
  EXPECT_EQ(code_of({nodes(1, 1, "dgx-2")}), "C011") << "sixteen devices";
  EXPECT_EQ(code_of({nodes(1, 1, "cpu-host")}), "C011");
  OtherNodes no_nvlink = nodes(1, 1, "hgx-h100");
  no_nvlink.device = find_device("l40s");
  EXPECT_EQ(code_of({no_nvlink}), "C008");
}

}  // namespace plait::other_nodes_test
