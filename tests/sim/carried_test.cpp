// The analytic network counts on no more than the links of the machine written out can carry.
#include "tests/sim/carried.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "tests/sim/draw.h"
#include "topologies/catalogue.h"

namespace plait::carried_test {

DeviceGroup first_devices(std::int64_t count) {
  DeviceGroup out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

/// Of each byte a member sends and receives (n - 1) / n.
double at_rate(std::int64_t members, BytesPerSecond rate) {
  return static_cast<double>(members - 1) / static_cast<double>(members) / rate.value;
}

TEST(Carried, CardsThatSendThroughTheHostShareTheUplinkInBothNetworks) {
  const Cluster c = make_cluster({.preset = "pcie-8", .device = find_device("rtx-4090")});
  for (const std::int64_t n : {2, 3, 4, 8}) {
    const DeviceGroup group = first_devices(n);
    const GroupPlacement place = place_group(c, group);
    EXPECT_DOUBLE_EQ(seconds_per_byte(c, {group}, CollectiveKind::kAllGather),
                     at_rate(n, place.intra_alone.bandwidth));
    EXPECT_DOUBLE_EQ(seconds_per_byte(c, {group}, CollectiveKind::kAllToAll),
                     at_rate(n, place.intra_exchange_alone.bandwidth));
  }
}

// Of a hybrid cube mesh's pairs 24 have no NVLink. Another GPU passes on what they send, so some
// links carry three flows in each seven, and none of these data are on PCIe.
TEST(Carried, WhatHasNoNvlinkIsPassedOnInBothNetworks) {
  const Cluster c = make_cluster({.preset = "dgx-v100"});
  for (const DeviceGroup& group : {first_devices(8), first_devices(6), DeviceGroup{0, 1, 4, 5}}) {
    const GroupPlacement place = place_group(c, group);
    EXPECT_EQ(place.intra_exchange.link, LinkClass::kNvlink);
    EXPECT_DOUBLE_EQ(seconds_per_byte(c, {group}, CollectiveKind::kAllToAll),
                     at_rate(std::ssize(group), place.intra_exchange_alone.bandwidth));
    for (const Connection& to :
         connections_of({Algorithm::kRing, CollectiveKind::kAllToAll}, {}, group, c)) {
      EXPECT_EQ(route(c, to.from, to.to).hops, 1);
    }
  }
  // Two alone have nobody between them.
  EXPECT_EQ(place_group(c, DeviceGroup{0, 5}).intra_exchange.link, LinkClass::kPcie);
}

/// A small dragonfly of nodes with two GPUs and two NICs.
Cluster any_dragonfly() {
  NodeSpec node = find_node("hgx-h100");
  node.devices = node.nics = 2;
  Fabric f = find_fabric("ndr400");
  f.topology = Topology::kDragonfly;
  f.nodes_per_switch = pick(1, 3), f.routers_per_group = pick(1, 4), f.global_cables = pick(1, 4);
  f.parallel_cables = pick(1, 2);
  const std::int64_t group = f.nodes_per_switch * f.routers_per_group;
  const std::int64_t most = (f.routers_per_group * f.global_cables + 1) * group;
  return make_cluster(
      {.nodes = pick(2, std::max<std::int64_t>(2, std::min<std::int64_t>(16, most))),
       .own_node = node,
       .own_fabric = f});
}

/// Device `place` of some of the nodes.
DeviceGroup one_of_each(const std::vector<std::int64_t>& nodes, std::int64_t place) {
  DeviceGroup out;
  for (const std::int64_t node : nodes) out.push_back(2 * node + place);
  return out;
}

std::vector<std::int64_t> some_nodes(std::int64_t nodes) {
  std::vector<std::int64_t> out;
  while (out.size() < 2) {
    out.clear();
    for (std::int64_t n = 0; n < nodes; ++n) {
      if (pick(0, 1) == 1) out.push_back(n);
    }
  }
  return out;
}

RC_GTEST_PROP(Carried, NoRingOrExchangeBeatsTheCablesOfADragonfly, ()) {
  const Cluster c = any_dragonfly();
  const std::vector<std::int64_t> nodes = some_nodes(c.nodes);
  const DeviceGroup group = one_of_each(nodes, 0), other = one_of_each(nodes, 1);
  const std::int64_t n = std::ssize(group);
  const GroupPlacement place = place_group(c, group);
  constexpr double kLess = 1 - 1e-9, kMost = 2;
  const auto holds = [&](CollectiveKind kind, BytesPerSecond alone, BytesPerSecond all) {
    const double one = seconds_per_byte(c, {group}, kind);
    RC_ASSERT(at_rate(n, alone) >= one * kLess);
    RC_ASSERT(at_rate(n, alone) <= one * kMost);
    RC_ASSERT(at_rate(n, all) >= seconds_per_byte(c, {group, other}, kind) * kLess);
  };
  holds(CollectiveKind::kAllGather, place.inter_alone.bandwidth, place.inter.bandwidth);
  holds(CollectiveKind::kAllToAll, place.exchange_alone.bandwidth, place.exchange.bandwidth);
}

}  // namespace plait::carried_test
