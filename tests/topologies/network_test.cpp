#include "topologies/network.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/time.h"
#include "tests/topologies/joinable.h"
#include "topologies/catalogue.h"
#include "topologies/graph.h"

namespace plait::network_test {

using Links = std::vector<LinkId>;

Links route_between(const Network& network, std::int64_t from, std::int64_t to,
                    std::uint64_t connection = 0) {
  Links out;
  network.route(from, to, connection, out);
  return out;
}

std::vector<std::string> names_of(const Network& network, const Links& links) {
  std::vector<std::string> out;
  for (const LinkId id : links) out.push_back(network.name_of(id));
  return out;
}

SimTime route_latency(const Network& network, const Links& links) {
  SimTime sum = 0;
  for (const LinkId id : links) sum += to_sim_time(network.links()[id].latency);
  return sum;
}

/// As a NIC's rate: traffic gets less of a PCIe link.
double carried(LinkClass link, BytesPerSecond bandwidth) {
  return over(link, bandwidth, {}).carried();
}

double least_carried(const Network& network, const Links& links) {
  double least = std::numeric_limits<double>::infinity();
  for (const LinkId id : links)
    least = std::min(least, carried(network.links()[id].link, network.links()[id].bandwidth));
  return least;
}

constexpr RoutingOptions kOneCable = {.spreading = Spreading::kHash, .rail_forwarding = false};

TEST(Network, RoutesAreAsLongAndAsWideAsTheAnalyticOnes) {
  for (const std::string& name : joinable_names()) {
    ClusterSpec spec{.preset = name, .nodes = 5, .nodes_per_pod = 2, .oversubscription = 2};
    if (name == "gb200-nvl72") spec.devices_per_node = 8;
    const Cluster c = make_cluster(spec);
    const auto network = make_network(c, kOneCable);
    for (std::int64_t a = 0; a < c.world_size(); ++a) {
      for (std::int64_t b = 0; b < c.world_size(); ++b) {
        const Links links = route_between(*network, a, b);
        const Path path = route(c, a, b);
        ASSERT_EQ(static_cast<int>(links.size()), path.hops) << name << ": " << a << " -> " << b;
        ASSERT_EQ(route_latency(*network, links), to_sim_time(path.latency));
        ASSERT_EQ(least_carried(*network, links), carried(path.link, path.bandwidth));
      }
    }
  }
}

/// "node 3: device 0 -> nvswitch 0", "node 3: nic 0 -> spine 1": {"device 0", "nvswitch 0"}, ...
std::pair<std::string, std::string> ends_of_link(const std::string& name) {
  const auto bare = [](const std::string& end) {
    const std::size_t colon = end.find(": ");
    return colon == std::string::npos ? end : end.substr(colon + 2);
  };
  const std::size_t arrow = name.find(" -> ");
  return {bare(name.substr(0, arrow)), bare(name.substr(arrow + 4))};
}

TEST(Network, EachLinkOfARouteBeginsWhereTheLastOneEnds) {
  const Cluster c = make_cluster({.preset = "dgx-a100", .nodes = 5, .nodes_per_pod = 2});
  const auto network = make_network(c, {.spreading = Spreading::kHash});
  for (std::int64_t a = 0; a < c.world_size(); a += 3) {
    for (std::int64_t b = 0; b < c.world_size(); ++b) {
      std::string at = "device " + std::to_string(a % 8);
      for (const std::string& name : names_of(*network, route_between(*network, a, b))) {
        const auto [begin, end] = ends_of_link(name);
        ASSERT_EQ(begin, at) << name;
        at = end;
      }
      ASSERT_EQ(at, "device " + std::to_string(b % 8));
    }
  }
}

TEST(Network, AnotherRailIsReachedThroughTheDeviceThatIsOnIt) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 2});
  const auto network = make_network(c);
  EXPECT_EQ(names_of(*network, route_between(*network, 0, 8 + 5)),
            (std::vector<std::string>{
                "node 0: device 0 -> nvswitch 0", "node 0: nvswitch 0 -> device 5",
                "node 0: device 5 -> pcie switch 2", "node 0: pcie switch 2 -> nic 5",
                "node 0: nic 5 -> pod 0 leaf 5", "pod 0 leaf 5 -> node 1: nic 5",
                "node 1: nic 5 -> pcie switch 2", "node 1: pcie switch 2 -> device 5"}));
}

TEST(Network, WithoutForwardingItIsReachedThroughASpine) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 2});
  const auto network = make_network(c, {.rail_forwarding = false});
  const auto names = names_of(*network, route_between(*network, 0, 8 + 7));
  EXPECT_EQ(names[3], "pod 0 leaf 0 -> spines");
  EXPECT_EQ(names[4], "spines -> pod 0 leaf 7");
}

TEST(Network, DevicesOnTheirOwnRailsShareNoNic) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 2});
  const auto network = make_network(c);
  std::set<LinkId> seen;
  for (std::int64_t d = 0; d < 8; ++d) {
    for (const LinkId id : route_between(*network, d, 8 + d)) {
      if (network->links()[id].link != LinkClass::kInfiniband) continue;
      EXPECT_TRUE(seen.insert(id).second) << network->name_of(id);
    }
  }
  EXPECT_EQ(seen.size(), 2 * 8U);
}

TEST(Network, ForwardersOfARackShareTheWork) {
  const Cluster c = make_cluster({.preset = "gb200-nvl72", .nodes = 2});  // 72 NICs, 4 rails
  const auto network = make_network(c);
  std::map<std::string, int> load;
  for (std::int64_t d = 0; d < 72; ++d) {
    if (d % 4 == 3) continue;
    for (const std::string& name : names_of(*network, route_between(*network, d, 72 + 3))) {
      if (name.find("nic") != std::string::npos && name.starts_with("node 0: nic")) ++load[name];
    }
  }
  EXPECT_EQ(load.size(), 18U);  // the NICs of that rail
  for (const auto& [name, count] : load) EXPECT_EQ(count, 3) << name;
}

TEST(Network, TrunksHoldTheBandwidthOfAllTheirCables) {
  // 2 pods of 4 nodes, 8 rails: 16 leafs with 4 NICs each and 4 / 1.6 up, spread over 3 spines.
  const Cluster c =
      make_cluster({.preset = "hgx-h100", .nodes = 8, .nodes_per_pod = 4, .oversubscription = 1.6});
  const auto trunks = make_network(c), cables = make_network(c, kOneCable);
  EXPECT_EQ(cables->links().size() - trunks->links().size(), 2 * 16 * (3 - 1U));
  double sums[2] = {0, 0};
  for (const NetworkLink& l : trunks->links()) sums[0] += l.bandwidth.value;
  for (const NetworkLink& l : cables->links()) sums[1] += l.bandwidth.value;
  EXPECT_NEAR(sums[0] / sums[1], 1, 1e-12);
  for (const LinkId id : route_between(*trunks, 0, 4 * 8)) {
    const NetworkLink& l = trunks->links()[id];
    if (l.cables == 1) continue;
    EXPECT_EQ(l.cables, 3);
    EXPECT_NEAR(l.bandwidth.value, 4 * c.nic_bandwidth.value / 1.6, 1);
  }
}

TEST(Network, TheHashTakesEverySpineAboutEquallyOften) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 32, .nodes_per_pod = 16});
  const auto network = make_network(c, {.spreading = Spreading::kHash});  // 16 spines
  std::map<LinkId, int> load;
  constexpr int kConnections = 16 * 400;
  for (std::uint64_t k = 0; k < kConnections; ++k) {
    for (const LinkId id : route_between(*network, 0, 16 * 8, k)) {
      if (network->name_of(id).find("leaf 0 -> spine") != std::string::npos) ++load[id];
    }
  }
  EXPECT_EQ(load.size(), 16U);
  // Binomial with mean 400 and deviation below 20: six deviations.
  for (const auto& [id, count] : load) EXPECT_NEAR(count, 400, 120) << network->name_of(id);
}

TEST(Network, TheHashDependsOnTheSeedAndOnNothingElse) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 32, .nodes_per_pod = 16});
  const auto ways = [&](std::uint64_t seed) {
    const auto network = make_network(c, {.spreading = Spreading::kHash, .seed = seed});
    std::vector<Links> out;
    for (std::uint64_t k = 0; k < 50; ++k) out.push_back(route_between(*network, 3, 200, k));
    return out;
  };
  EXPECT_EQ(ways(1), ways(1));
  EXPECT_NE(ways(1), ways(2));
}

TEST(Network, EveryLinkHasItsOwnName) {
  const Cluster c = make_cluster({.preset = "dgx-v100", .nodes = 3, .nodes_per_pod = 2});
  for (const Spreading s : {Spreading::kEven, Spreading::kHash}) {
    const auto network = make_network(c, {.spreading = s});
    std::set<std::string> names;
    for (LinkId id = 0; id < network->links().size(); ++id) {
      EXPECT_TRUE(names.insert(network->name_of(id)).second) << network->name_of(id);
    }
  }
}

TEST(Network, OneNodeHasNoFabric) {
  const Cluster c = make_cluster({.preset = "hgx-h100"});
  const auto network = make_network(c);
  EXPECT_TRUE(route_between(*network, 3, 3).empty());
  EXPECT_EQ(route_between(*network, 0, 7).size(), 2U);
}

// NIC, PCIe switch and leaf at either end at least; a spine between pods.
TEST(Network, RoutesOnSixteenThousandDevices) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 2048});
  const auto network = make_network(c);
  Links links;
  std::size_t hops = 0;
  for (std::int64_t i = 0; i < 10'000; ++i) {
    links.clear();
    network->route(i * 7919 % c.world_size(), i * 104729 % c.world_size(), 0, links);
    hops += links.size();
  }
  EXPECT_GT(hops, 60'000U);
}

}  // namespace plait::network_test
