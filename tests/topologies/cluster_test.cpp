#include "topologies/cluster.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "core/error.h"
#include "topologies/catalogue.h"
#include "topologies/graph.h"

namespace plait::cluster_test {

constexpr double kTolerance = 1e-12;  // seconds: routes are whole picoseconds

/// Over one NIC, its leaf switch and the NIC of the peer, both behind the PCIe switch of their
/// device.
double same_rail_latency(const NodeSpec& node, const Fabric& fabric) {
  return 4 * node.pcie_latency.value + 2 * node.pcie_switch_latency.value +
         2 * fabric.nic_latency.value + 2 * fabric.cable_latency.value +
         fabric.switch_latency.value;
}

TEST(HgxH100, PeersInANodeReachEachOtherAtTheFullNvlinkBandwidth) {
  const Path p = route(make_cluster({.preset = "hgx-h100"}), 0, 7);
  EXPECT_EQ(p.link, LinkClass::kNvlink);
  EXPECT_EQ(p.hops, 2);
  EXPECT_DOUBLE_EQ(p.bandwidth.value, 18 * 25e9);
  EXPECT_NEAR(p.latency.value, 2 * find_node("hgx-h100").nvlink_latency.value, kTolerance);
}

TEST(Hosts, AreTheTraysOfARack) {
  EXPECT_EQ(make_cluster({.preset = "hgx-h100", .nodes = 3}).hosts(), 3);
  EXPECT_EQ(make_cluster({.preset = "gb200-nvl72", .nodes = 2}).hosts(), 36);
  EXPECT_EQ(make_cluster({.preset = "gb200-nvl72", .nodes = 2, .devices_per_node = 6}).hosts(), 4);
}

TEST(HgxH100, OneRailIsSixHopsThroughOneLeaf) {
  const Path p = route(make_cluster({.preset = "hgx-h100", .nodes = 2}), 3, 8 + 3);
  EXPECT_EQ(p.link, LinkClass::kInfiniband);
  EXPECT_EQ(p.hops, 6);  // PCIe switch, NIC, leaf, NIC, PCIe switch, device
  EXPECT_DOUBLE_EQ(p.bandwidth.value, 400e9 / 8);
  EXPECT_NEAR(p.latency.value, same_rail_latency(find_node("hgx-h100"), find_fabric("ndr400")),
              kTolerance);
}

TEST(HgxH100, AnotherRailCostsTwoSwitchesAndTwoCablesMore) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 2});
  const Fabric f = find_fabric("ndr400");
  const Path p = route(c, 0, 8 + 7);
  EXPECT_EQ(p.hops, 8);
  EXPECT_NEAR(p.latency.value - route(c, 0, 8).latency.value,
              2 * (f.switch_latency.value + f.cable_latency.value), kTolerance);
}

TEST(HgxH100, AnotherPodCostsAsMuchAsAnotherRail) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 64});  // pods of 32
  EXPECT_EQ(route(c, 0, 31 * 8).hops, 6);
  EXPECT_EQ(route(c, 0, 32 * 8).hops, 8);
  EXPECT_EQ(route(c, 0, 32 * 8).latency, route(c, 0, 8 + 7).latency);
}

TEST(DgxV100, DirectNeighboursHaveTheBandwidthOfTheirLinks) {
  const Cluster c = make_cluster({.preset = "dgx-v100"});
  EXPECT_DOUBLE_EQ(route(c, 0, 1).bandwidth.value, 25e9);
  EXPECT_DOUBLE_EQ(route(c, 0, 3).bandwidth.value, 2 * 25e9);
  EXPECT_EQ(route(c, 0, 3).hops, 1);
}

TEST(DgxV100, OthersCrossTheSockets) {
  const Path p = route(make_cluster({.preset = "dgx-v100"}), 0, 5);
  EXPECT_EQ(p.link, LinkClass::kPcie);
  EXPECT_EQ(p.hops, 5);  // switch, socket, socket, switch, device
  EXPECT_EQ(p.bandwidth, find_node("dgx-v100").socket_bandwidth / kPcieShare);
}

TEST(PcieBox, PeersUnderOneSwitchTurnThere) {
  const Cluster c = make_cluster({.preset = "pcie-8"});
  EXPECT_EQ(route(c, 0, 3).hops, 2);
  EXPECT_EQ(route(c, 0, 3).bandwidth, find_device("l40s").pcie_bandwidth);
  EXPECT_EQ(route(c, 3, 4).hops, 5);
  EXPECT_EQ(route(c, 3, 4).bandwidth, find_node("pcie-8").socket_bandwidth / kPcieShare);
}

TEST(PcieBox, ADeviceIsAsFastAsItsSlot) {
  for (const char* name : {"pcie-8", "rtx-4090-8"}) {  // on PCIe switches, on root ports
    NodeSpec node = find_node(name);
    node.pcie_bandwidth = node.pcie_bandwidth / 4;
    const Cluster c = make_cluster({.own_node = node});
    EXPECT_EQ(route(c, 0, 1).bandwidth, node.pcie_bandwidth);
    EXPECT_LE(c.host.bandwidth, node.pcie_bandwidth);
  }
}

TEST(PcieBox, WithoutPeerAccessEverythingPassesTheHost) {
  Device device = find_device("l40s");
  device.peer_access = false;
  const NodeSpec node = find_node("pcie-8");
  const Path p = route(make_cluster({.preset = "pcie-8", .device = device}), 0, 1);
  EXPECT_EQ(p.hops, 4);  // switch, host, the same switch, device
  EXPECT_NEAR(
      p.latency.value,
      4 * node.pcie_latency.value + 2 * node.pcie_switch_latency.value + node.socket_latency.value,
      kTolerance);
}

TEST(Nvl72, AllDevicesOfTheRackAreTwoNvlinkHopsApart) {
  const Cluster c = make_cluster({.preset = "gb200-nvl72"});
  for (std::int64_t d = 1; d < 72; ++d) {
    ASSERT_EQ(route(c, 0, d).hops, 2);
    ASSERT_DOUBLE_EQ(route(c, 0, d).bandwidth.value, 18 * 50e9);
  }
}

TEST(Nvl72, FewerDevicesBringFewerNics) {
  const Cluster c = make_cluster({.preset = "gb200-nvl72", .devices_per_node = 64});
  EXPECT_EQ(c.world_size(), 64);
  EXPECT_EQ(c.nics_per_node, 64);
}

TEST(PcieBox, WithMoreNicsThanDevicesEachDeviceHasOne) {
  for (const std::int64_t nics : {8, 9, 10, 12, 16, 24}) {
    NodeSpec node = find_node("hgx-h100");
    node.nics = nics;
    const Cluster c = make_cluster({.nodes = 2, .own_node = node});
    std::set<std::int64_t> used;
    for (std::int64_t d = 0; d < 8; ++d) used.insert(c.graph->gates(d, 8 + d).exit);
    EXPECT_EQ(used.size(), 8U) << nics;
  }
}

// A leaf of 32 ports has room for one rack's 18 NICs on a rail, and none for another's.
TEST(Nvl72, ALeafHasPortsForOneRack) {
  const auto nodes_per_pod = [](std::optional<std::int64_t> said) {
    return make_cluster({.preset = "gb200-nvl72", .nodes = 8, .nodes_per_pod = said})
        .graph->fabric.nodes_per_pod;
  };
  EXPECT_EQ(nodes_per_pod({}), 1);
  EXPECT_EQ(nodes_per_pod(8), 8);
  EXPECT_EQ(make_cluster({.preset = "gb300-nvl72", .nodes = 8}).graph->fabric.nodes_per_pod, 4);
  EXPECT_EQ(make_cluster({.preset = "hgx-h100", .nodes = 8}).graph->fabric.nodes_per_pod, 32);
}

// 36 sockets with two GPUs each. A NIC is reached over C2C and PCIe, a leaf and the same way back.
TEST(Nvl72, SocketsWithoutNicsOfTheirOwnShareThem) {
  for (const std::int64_t nics : {1, 9, 18, 27, 36, 54, 72, 144}) {
    NodeSpec node = find_node("gb200-nvl72");
    node.nics = nics;
    const Cluster c = make_cluster({.nodes = 2, .own_node = node, .nodes_per_pod = 2});
    for (std::int64_t d = 0; d < 72; ++d) ASSERT_EQ(route(c, d, 72 + d).hops, 6) << nics;
    std::vector<std::int64_t> all(144);
    std::iota(all.begin(), all.end(), 0);
    const double share = std::min(1.0, static_cast<double>(nics) / 72);
    if (72 % nics == 0 || nics > 72) {
      EXPECT_DOUBLE_EQ(place_group(c, all).inter.bandwidth.value, c.nic_bandwidth.value * share);
    }
  }
}

TEST(Cluster, LatenciesOfRealMachinesArePlausible) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 64});
  EXPECT_GT(route(c, 0, 1).latency.value, 0.5e-6);
  EXPECT_LT(route(c, 0, 1).latency.value, 2e-6);
  EXPECT_GT(route(c, 0, 8).latency.value, 2e-6);
  EXPECT_LT(route(c, 0, 63 * 8 + 5).latency.value, 5e-6);
}

TEST(Cluster, TheSlowerOfNicAndItsSlotNamesTheRoute) {
  // ConnectX-8 at 100 GB/s behind the PCIe 5.0 link of the device.
  const Path p = route(make_cluster({.preset = "hgx-b200", .nodes = 2, .fabric = "xdr800"}), 0, 8);
  EXPECT_EQ(p.link, LinkClass::kPcie);
  EXPECT_EQ(p.bandwidth, find_device("b200").pcie_bandwidth);
}

TEST(Cluster, AFasterNicNeverCarriesLess) {
  // The slot is 63 GB/s, of which data get what they get of a NIC of 52.
  BytesPerSecond before;
  for (const double rate : {25e9, 50e9, 52e9, 53e9, 62.9e9, 63.1e9, 100e9}) {
    Fabric fabric = find_fabric("ndr400");
    fabric.bandwidth = BytesPerSecond(rate);
    const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 2, .own_fabric = fabric});
    const BytesPerSecond carried = route(c, 0, 8).carried();
    EXPECT_LE(before, carried) << rate;
    before = carried;
  }
  EXPECT_DOUBLE_EQ(before.value, 63e9 * kNicForPcie);
}

TEST(Cluster, DevicesOfOneNicShareItsSlot) {
  Fabric fabric = find_fabric("xdr800");
  NodeSpec node = find_node("dgx-a100");
  node.nics = 1;
  const Cluster c = make_cluster({.nodes = 2, .own_node = node, .own_fabric = fabric});
  std::vector<std::int64_t> all(16);
  std::iota(all.begin(), all.end(), 0);
  const Path path = place_group(c, all).inter;
  EXPECT_EQ(path.link, LinkClass::kPcie);
  EXPECT_DOUBLE_EQ(path.bandwidth.value, 31.5e9 / 8);
}

TEST(Cluster, DevicesBehindAPcieSwitchShareTheWayToTheHost) {
  const Cluster c = make_cluster({.preset = "dgx-a100"});
  EXPECT_DOUBLE_EQ(c.host.bandwidth.value, find_device("a100-80-sxm").host_bandwidth.value / 2);
  EXPECT_EQ(c.host.link, LinkClass::kPcie);
  EXPECT_EQ(make_cluster({.preset = "gb200-nvl72"}).host.link, LinkClass::kC2c);
  // Four, whether they read each other's memory or not.
  for (const bool peer_access : {true, false}) {
    Device device = find_device("l40s");
    device.peer_access = peer_access;
    EXPECT_DOUBLE_EQ(make_cluster({.preset = "pcie-8", .device = device}).host.bandwidth.value,
                     find_node("pcie-8").pcie_bandwidth.value / 4);
  }
}

TEST(SymmetryPeriod, IsANodeInOnePodAndAPodInMany) {
  EXPECT_EQ(symmetry_period(make_cluster({.preset = "hgx-h100", .nodes = 32})), 8);
  EXPECT_EQ(symmetry_period(make_cluster({.preset = "hgx-h100", .nodes = 33})), 32 * 8);
}

TEST(SymmetryPeriod, ShiftedPairsHaveTheSameRoute) {
  const Cluster c = make_cluster({.preset = "dgx-v100", .nodes = 7, .nodes_per_pod = 2});
  const std::int64_t period = symmetry_period(c);
  for (std::int64_t a = 0; a + period < c.world_size(); ++a) {
    for (std::int64_t b = 0; b + period < c.world_size(); ++b) {
      const Path here = route(c, a, b), there = route(c, a + period, b + period);
      ASSERT_EQ(here.latency, there.latency);
      ASSERT_EQ(here.bandwidth, there.bandwidth);
    }
  }
}

TEST(Device, RefusesANumberFormatThatItDoesNotHave) {
  EXPECT_THROW(find_device("a100-80-sxm").peak(DType::kFp8), InputError);
  EXPECT_EQ(find_device("h100-sxm").peak(DType::kFp8), find_device("h100-sxm").peak_fp8);
  EXPECT_THROW(find_device("h200-sxm").peak(DType::kNvfp4), InputError);
}

// Of each GPU with units for 4 bits: twice as many numbers as of 8 bits.
TEST(Device, MultipliesFourBitsTwiceAsFastAsEight) {
  for (const char* name : {"b200", "gb200", "rtx-pro-6000"}) {
    const Device d = find_device(name);
    EXPECT_EQ(d.peak(DType::kNvfp4), d.peak_fp8 * 2) << name;
  }
}

}  // namespace plait::cluster_test
