// What a member has of the fabric when it sends to all others of its group alike. The oracle: what
// the halves of the machine can exchange at most.
#include <gtest/gtest.h>

#include <numeric>

#include "topologies/catalogue.h"
#include "topologies/cut.h"
#include "topologies/graph.h"

namespace plait::exchange_test {

Fabric fabric_with(Topology topology) {
  Fabric f = find_fabric("ndr400");
  f.topology = topology;
  return f;
}
Fabric tree_of(std::int64_t nodes_per_pod, double oversubscription) {
  Fabric f = find_fabric("ndr400");
  f.nodes_per_pod = nodes_per_pod, f.oversubscription = oversubscription;
  return f;
}
Fabric dragonfly_of(std::int64_t routers_per_group, std::int64_t global_cables) {
  Fabric f = fabric_with(Topology::kDragonfly);
  f.nodes_per_switch = 1, f.global_cables = global_cables;
  f.routers_per_group = routers_per_group;
  return f;
}
Fabric torus_of(std::vector<std::int64_t> dimensions) {
  Fabric f = fabric_with(Topology::kTorus);
  f.dimensions = std::move(dimensions);
  return f;
}
Cluster joined(const Fabric& fabric, std::int64_t nodes) {
  return make_cluster({.preset = "hgx-h100", .nodes = nodes, .own_fabric = fabric});
}
GroupPlacement all_of(const Cluster& c) {
  std::vector<std::int64_t> devices(static_cast<std::size_t>(c.world_size()));
  std::iota(devices.begin(), devices.end(), 0);
  return place_group(c, devices);
}
/// Of a NIC, in an exchange among all devices.
double part_of_nic(const Fabric& fabric, std::int64_t nodes) {
  const Cluster c = joined(fabric, nodes);
  return all_of(c).exchange.bandwidth.value / c.nic_bandwidth.value;
}

TEST(Exchange, HasNoMoreThanTheHalvesOfTheMachineCanSend) {
  Fabric three_levels = tree_of(2, 1.5);
  three_levels.levels = 3, three_levels.pods_per_block = 2;
  three_levels.spine_oversubscription = 2;
  const std::vector<std::pair<Fabric, std::int64_t>> machines = {
      {tree_of(4, 1), 8},      {tree_of(4, 3), 8},      {tree_of(2, 8), 6},
      {three_levels, 8},       {dragonfly_of(8, 1), 8}, {dragonfly_of(4, 1), 16},
      {dragonfly_of(2, 4), 8}, {torus_of({8}), 8},      {torus_of({4, 3}), 12}};
  for (const auto& [fabric, nodes] : machines) {
    const Cluster c = joined(fabric, nodes);
    const auto half = static_cast<double>(nodes / 2), all = static_cast<double>(nodes);
    const Cut cut = cut_of(expand(*c.graph), static_cast<std::size_t>(nodes / 2 * 8), "");
    const double share = all_of(c).exchange.bandwidth.value;
    EXPECT_LE(half * 8 * share * (all - half) / (all - 1), cut.bandwidth.value * (1 + 1e-9));
    EXPECT_LE(share, c.nic_bandwidth.value);
  }
}

// Of 16 nodes in two pods each sends 8 / 15 to the other pod, over an eighth of what its NICs send.
TEST(Exchange, LeavesAPodOverWhatLeadsUp) {
  EXPECT_DOUBLE_EQ(part_of_nic(tree_of(8, 1), 16), 1);
  EXPECT_DOUBLE_EQ(part_of_nic(tree_of(8, 8), 16), 15.0 / 8 / 8);
  EXPECT_DOUBLE_EQ(part_of_nic(tree_of(16, 8), 16), 1);  // one pod
}

TEST(Exchange, AloneTheMembersOfAPodShareWhatLeadsUp) {
  const Cluster c = joined(tree_of(8, 8), 16);
  std::vector<std::int64_t> one_of_each_node(16);
  for (std::size_t n = 0; n < 16; ++n) one_of_each_node[n] = 8 * static_cast<std::int64_t>(n);
  const GroupPlacement g = place_group(c, one_of_each_node);
  EXPECT_EQ(g.exchange_alone.bandwidth,
            g.exchange.bandwidth);  // 8 on a leaf, as if all others sent
  EXPECT_EQ(place_group(c, std::vector<std::int64_t>{0, 64}).exchange_alone.bandwidth,
            c.nic_bandwidth);
}

// Eight routers, a node of 8 devices on each and one cable between any two: 8 flows of 1 / 7.
TEST(Exchange, HasACableToEachRouterOfAGroup) {
  EXPECT_DOUBLE_EQ(part_of_nic(dragonfly_of(8, 1), 8), 7.0 / 8);
}

// Eight routers in a ring: 16 steps to all others, 8 of them either way.
TEST(Exchange, GoesTheLongWayRoundATorus) {
  EXPECT_DOUBLE_EQ(part_of_nic(torus_of({8}), 8), 7.0 / 8 / 8);
}

TEST(Exchange, AmongTwoIsTheirRing) {
  for (const Fabric& f : {tree_of(1, 4), dragonfly_of(2, 1), torus_of({2})}) {
    const GroupPlacement g = all_of(joined(f, 2));
    EXPECT_DOUBLE_EQ(g.exchange.bandwidth.value, g.inter.bandwidth.value);
  }
}

}  // namespace plait::exchange_test
