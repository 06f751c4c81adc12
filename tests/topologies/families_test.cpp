// Fabrics of every family. The oracles: shortest paths on the whole machine written out, and counts
// of switches, cables and flows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/time.h"
#include "topologies/catalogue.h"
#include "topologies/graph.h"
#include "topologies/network.h"
#include "topologies/summary.h"

namespace plait::families_test {

Fabric fabric_with(Topology topology) {
  Fabric f = find_fabric("ndr400");
  f.topology = topology;
  return f;
}

/// Pods of 2 nodes, blocks of 2 pods.
Fabric three_levels(double leaf = 1, double spine = 1) {
  Fabric f = find_fabric("ndr400");
  f.levels = 3, f.nodes_per_pod = 2, f.pods_per_block = 2;
  f.oversubscription = leaf, f.spine_oversubscription = spine;
  return f;
}

Fabric torus_of(std::vector<std::int64_t> dimensions) {
  Fabric f = fabric_with(Topology::kTorus);
  f.dimensions = std::move(dimensions);
  return f;
}

/// 1 node per router, 4 routers per group.
Fabric dragonfly_with(std::int64_t global_cables) {
  Fabric f = fabric_with(Topology::kDragonfly);
  f.nodes_per_switch = 1, f.routers_per_group = 4, f.global_cables = global_cables;
  return f;
}

Cluster joined(const Fabric& fabric, std::int64_t nodes, const std::string& preset = "hgx-h100") {
  return make_cluster({.preset = preset, .nodes = nodes, .own_fabric = fabric});
}

std::vector<LinkId> route_of(const Network& network, std::int64_t a, std::int64_t b,
                             std::uint64_t connection = 0) {
  std::vector<LinkId> out;
  network.route(a, b, connection, out);
  return out;
}

SimTime latency_of(const Network& network, const std::vector<LinkId>& links) {
  SimTime sum = 0;
  for (const LinkId id : links) sum += to_sim_time(network.links()[id].latency);
  return sum;
}

std::vector<Cluster> one_of_each() {
  Fabric thin_cables = three_levels(1.5, 1.3);
  thin_cables.spreading = Spreading::kHash;  // each message takes one of them
  return {joined(fabric_with(Topology::kFatTree), 9),
          joined(thin_cables, 9),
          joined(dragonfly_with(1), 16),
          joined(dragonfly_with(3), 12, "dgx-v100"),
          joined(dragonfly_with(2), 8, "pcie-8"),
          joined(torus_of({4, 3}), 12),
          joined(torus_of({3, 2, 2}), 12, "dgx-v100")};
}

TEST(Families, RoutesHaveTheLatencyAndTheWidthOfTheirLinksWhicheverWayIsTaken) {
  for (const Cluster& c : one_of_each()) {
    const auto network = make_network(c, {.spreading = Spreading::kHash, .rail_forwarding = false});
    for (std::int64_t a = 0; a < c.world_size(); a += 3) {
      for (std::int64_t b = 0; b < c.world_size(); ++b) {
        const Path path = route(c, a, b);
        for (std::uint64_t k = 0; k < 3; ++k) {
          const auto links = route_of(*network, a, b, k);
          ASSERT_EQ(static_cast<int>(links.size()), path.hops);
          ASSERT_EQ(latency_of(*network, links), to_sim_time(path.latency));
        }
      }
    }
  }
}

TEST(Families, ACrossingIsTheSameFromAnyNodeToOneSoClose) {
  for (const Cluster& c : one_of_each()) {
    const Graph& g = *c.graph;
    ASSERT_FALSE(g.crossings.empty());
    for (std::int64_t a = 0; a < g.nodes * g.nics(); ++a) {
      for (std::int64_t b = 0; b < g.nodes * g.nics(); ++b) {
        if (a / g.nics() == b / g.nics()) continue;
        const Distance by_table = g.crossing(a, b), by_cables = g.walk(a, b);
        ASSERT_EQ(by_table.latency, by_cables.latency) << a << " -> " << b;
        ASSERT_EQ(by_table.bandwidth, by_cables.bandwidth) << a << " -> " << b;
        ASSERT_EQ(by_table.hops, by_cables.hops) << a << " -> " << b;
      }
    }
  }
}

TEST(Families, TheDiameterIsTheLongestRouteOfAllPairs) {
  std::vector<Cluster> machines = one_of_each();
  machines.push_back(make_cluster({.preset = "hgx-h100",
                                   .nodes = 4,
                                   .nodes_per_pod = 2,
                                   .faults = {{.at = "node 3: nic 1", .factor = 0.5}}}));
  for (const Cluster& c : machines) {
    Diameter longest;
    for (std::int64_t a = 0; a < c.world_size(); ++a) {
      for (std::int64_t b = 0; b < c.world_size(); ++b) {
        const Path path = route(c, a, b);
        longest.hops = std::max(longest.hops, path.hops);
        if (path.latency > longest.latency) {
          longest.latency = path.latency, longest.from = a, longest.to = b;
        }
      }
    }
    const Diameter found = diameter_of(c);
    EXPECT_EQ(found.hops, longest.hops);
    EXPECT_EQ(found.latency, longest.latency);
    EXPECT_EQ(found.from, longest.from);
    EXPECT_EQ(found.to, longest.to);
  }
}

TEST(Families, TreesAndToriTakeShortestPathsOfTheWholeMachine) {
  for (const Cluster& c : one_of_each()) {
    // A dragonfly's minimal route crosses one global cable, even where two would be shorter.
    if (c.graph->fabric.topology == Topology::kDragonfly) continue;
    const Machine machine = expand(*c.graph);
    for (std::int64_t a = 0; a < c.world_size(); a += 5) {
      const RouteTree tree =
          routes_from(machine.links, machine.devices[static_cast<std::size_t>(a)]);
      for (std::int64_t b = 0; b < c.world_size(); ++b) {
        const Distance& d = tree.distance[machine.devices[static_cast<std::size_t>(b)]];
        const Path path = route(c, a, b);
        ASSERT_EQ(to_sim_time(path.latency), d.latency) << a << " -> " << b;
        if (a == b) continue;
        ASSERT_EQ(path.bandwidth.value, d.bandwidth);
      }
    }
  }
}

TEST(Families, AMessageSpreadOverThinCablesIsAsWideAsItsPort) {
  // 32 cables down and 32 / 15 up, as three: one of them is narrower than a port, all are not.
  for (const double oversubscription : {1.0, 15.0, 16.0, 31.0, 32.0}) {
    const Cluster c =
        make_cluster({.preset = "hgx-h100", .nodes = 64, .oversubscription = oversubscription});
    EXPECT_EQ(route(c, 0, 8 * 63).bandwidth, c.graph->fabric.bandwidth) << oversubscription;
  }
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 64, .oversubscription = 64});
  EXPECT_EQ(route(c, 0, 8 * 63).bandwidth, c.graph->fabric.bandwidth * 0.5);
}

/// Of a name like "node 3: nic 2 -> group 0 router 1".
std::pair<std::string, std::string> ends_of(const std::string& name) {
  const std::size_t arrow = name.find(" -> ");
  return {name.substr(0, arrow), name.substr(arrow + 4)};
}

TEST(Families, HopsInTheFabricJoinEachOther) {
  for (const Cluster& c : one_of_each()) {
    const auto network = make_network(c, {.spreading = Spreading::kHash});
    for (std::int64_t a = 0; a < c.world_size(); a += 7) {
      for (std::int64_t b = 0; b < c.world_size(); b += 3) {
        if (a / c.devices_per_node == b / c.devices_per_node) continue;
        std::string at;
        for (const LinkId id : route_of(*network, a, b)) {
          if (network->links()[id].link != c.graph->fabric.link) continue;
          const auto [begin, end] = ends_of(network->name_of(id));
          ASSERT_TRUE(at.empty() ? begin.starts_with("node") : begin == at) << begin;
          at = end;
        }
        ASSERT_TRUE(at.starts_with("node " + std::to_string(b / c.devices_per_node) + ":")) << at;
      }
    }
  }
}

TEST(Families, EveryLinkHasItsOwnName) {
  for (const Cluster& c : one_of_each()) {
    // Two cables of a ring of two, or between two groups of a dragonfly, may have the same ends.
    const Fabric& f = c.graph->fabric;
    if (std::ranges::find(f.dimensions, 2) != f.dimensions.end()) continue;
    if (f.topology == Topology::kDragonfly) continue;
    const auto network = make_network(c);
    std::set<std::string> names;
    for (LinkId id = 0; id < network->links().size(); ++id) names.insert(network->name_of(id));
    EXPECT_EQ(names.size(), network->links().size());
  }
}

TEST(PlainFatTree, AllNicsOfANodeAreOnItsLeaf) {
  const Cluster c = joined(fabric_with(Topology::kFatTree), 8);
  EXPECT_EQ(c.graph->fabric.nodes_per_pod, 32 / 8);  // a rail's leaf has 32 ports down
  EXPECT_EQ(route(c, 0, 8 + 7).latency, route(c, 0, 8).latency);
  EXPECT_GT(route(c, 0, 4 * 8).latency, route(c, 0, 8).latency);
}

TEST(ThreeLevels, CoresJoinTheBlocks) {
  const Cluster c = joined(three_levels(), 8);
  const Fabric& f = c.graph->fabric;
  // Leaf, then leaf and spine, then leaf, spine and core, there and back.
  const double level = 2 * (f.switch_latency.value + f.cable_latency.value);
  EXPECT_NEAR(route(c, 0, 2 * 8).latency.value - route(c, 0, 8).latency.value, level, 1e-12);
  EXPECT_NEAR(route(c, 0, 4 * 8).latency.value - route(c, 0, 2 * 8).latency.value, level, 1e-12);
  std::map<VertexKind, int> count;
  for (std::int64_t s = 0; s < c.graph->cabling->switches(); ++s)
    ++count[c.graph->cabling->vertex(s).kind];
  EXPECT_EQ(count[VertexKind::kLeaf], 4 * 8);        // pods times rails
  EXPECT_EQ(count[VertexKind::kSpine], 2 * 2);       // blocks times ports down of a leaf
  EXPECT_EQ(count[VertexKind::kCore], 2 * (2 * 8));  // spines of a block times its leafs
}

TEST(ThreeLevels, EachLevelDividesByItsOversubscription) {
  const Cluster c = joined(three_levels(2, 3), 8);
  const double b = c.nic_bandwidth.value;
  const auto inter = [&](std::vector<std::int64_t> devices) {
    return place_group(c, devices).inter.bandwidth.value;
  };
  EXPECT_DOUBLE_EQ(inter({0, 8}), b);               // one pod
  EXPECT_DOUBLE_EQ(inter({0, 16}), b / 2);          // one block
  EXPECT_DOUBLE_EQ(inter({0, 8, 16, 24}), b);       // two flows of four leave each leaf
  EXPECT_DOUBLE_EQ(inter({0, 32}), b / (2 * 3));    // two blocks
  EXPECT_DOUBLE_EQ(inter({0, 16, 32, 48}), b / 3);  // half as many leave each block
}

TEST(Dragonfly, AtMostOneGlobalCableAndTwoInsideOfGroups) {
  const Cluster c = joined(dragonfly_with(1), 20);  // 5 groups, one cable between each two
  const auto network = make_network(c);
  for (std::int64_t a = 0; a < 20; ++a) {
    for (std::int64_t b = 0; b < 20; ++b) {
      int inside = 0, global = 0;
      for (const LinkId id : route_of(*network, a * 8, b * 8)) {
        const auto [begin, end] = ends_of(network->name_of(id));
        if (!begin.starts_with("group") || !end.starts_with("group")) continue;
        const bool same = begin.substr(0, begin.find(" r")) == end.substr(0, end.find(" r"));
        ++(same ? inside : global);
      }
      ASSERT_EQ(global, a / 4 == b / 4 ? 0 : 1);
      ASSERT_LE(inside, a / 4 == b / 4 ? 1 : 2);
    }
  }
}

TEST(Dragonfly, EachTwoGroupsAndEachTwoRoutersOfAGroupAreJoined) {
  const Cluster c = joined(dragonfly_with(3), 16);  // 4 groups, 4 * 3 / 3 cables between each two
  const Cabling& cabling = *c.graph->cabling;
  std::map<std::pair<std::int64_t, std::int64_t>, int> between;
  std::map<std::int64_t, int> global_of;
  for (std::int64_t k = cabling.ports(); k < cabling.cables(); ++k) {
    const std::int64_t a = cabling.cable(k).a - cabling.ports();
    const std::int64_t b = cabling.cable(k).b - cabling.ports();
    ASSERT_NE(a, b);
    if (a / 4 == b / 4) ++between[std::minmax(a, b)];
    if (a / 4 == b / 4) continue;
    ++between[std::minmax(-1 - a / 4, -1 - b / 4)];
    ++global_of[a], ++global_of[b];
  }
  EXPECT_EQ(between.size(), 4 * 6 + 6U);
  for (const auto& [pair, count] : between) EXPECT_EQ(count, pair.first < 0 ? 4 : 1);
  for (const auto& [router, count] : global_of) EXPECT_EQ(count, 3) << router;
}

TEST(Dragonfly, NeighbouringGroupsShareTheCablesBetweenThem) {
  // 4 groups of 4 routers with a node of 8 devices each, 4 cables between each two. Rings from each
  // node to the one a group further: 4 * 8 flows over 4 cables.
  const Cluster c = joined(dragonfly_with(3), 16);
  const GroupPlacement g = place_group(c, std::vector<std::int64_t>{0, 4 * 8, 8 * 8, 12 * 8});
  EXPECT_DOUBLE_EQ(g.inter.bandwidth.value, c.nic_bandwidth.value / 8);
  EXPECT_DOUBLE_EQ(g.inter_alone.bandwidth.value, c.nic_bandwidth.value);
}

// The flows of a node leave by cables of different routers. More of these may lead a flow over a
// cable of its group that has eight of the ring already, and no more than that one.
TEST(Dragonfly, MoreGlobalCablesDoNotCrowdTheFlowsOfARing) {
  for (const auto& [routers, groups] : {std::pair{2, 2}, {2, 4}, {3, 5}, {4, 3}, {4, 5}, {8, 2}}) {
    Fabric f = fabric_with(Topology::kDragonfly);
    f.nodes_per_switch = 1, f.routers_per_group = routers;
    std::vector<std::int64_t> all(static_cast<std::size_t>(routers * groups * 8));
    std::iota(all.begin(), all.end(), 0);
    double most = 0;  // with fewer cables
    for (f.global_cables = ceil_div(groups - 1, routers); f.global_cables <= 16;
         ++f.global_cables) {
      const Cluster c = joined(f, routers * groups);
      const double share = place_group(c, all).inter.bandwidth.value;
      EXPECT_GE(share * 9 / 8, most * (1 - 1e-9))
          << groups << " groups of " << routers << " routers, " << f.global_cables << " cables";
      most = std::max(most, share);
    }
  }
}

TEST(Torus, RoutesAreAsLongAsTheWayRound) {
  const Cluster c = joined(torus_of({4, 5}), 20);
  const Fabric& f = c.graph->fabric;
  const auto steps = [&](std::int64_t a, std::int64_t b) {
    const double more = route(c, a * 8, b * 8).latency.value - route(c, 0, 8).latency.value;
    return std::lround(more / (f.switch_latency.value + f.cable_latency.value)) + 1;
  };
  for (std::int64_t a = 0; a < 20; ++a) {
    for (std::int64_t b = 0; b < 20; ++b) {
      if (a == b) continue;
      const std::int64_t x = std::abs(a / 5 - b / 5), y = std::abs(a % 5 - b % 5);
      ASSERT_EQ(steps(a, b), std::min(x, 4 - x) + std::min(y, 5 - y)) << a << ", " << b;
    }
  }
}

TEST(Torus, ARingOfNeighboursHasEveryLinkForItself) {
  Fabric f = torus_of({4, 4});
  f.parallel_cables = 8;  // as many as a node has NICs
  const Cluster c = joined(f, 16);
  const double b = c.nic_bandwidth.value;
  const auto placed = [&](std::vector<std::int64_t> nodes) {
    for (std::int64_t& n : nodes) n *= 8;
    return place_group(c, nodes);
  };
  EXPECT_DOUBLE_EQ(placed({0, 1, 2, 3}).inter.bandwidth.value, b);
  EXPECT_DOUBLE_EQ(placed({0, 4, 8, 12}).inter.bandwidth.value, b);
  // Every second: each step takes two links, but half of the flows go each way.
  EXPECT_DOUBLE_EQ(placed({0, 2}).inter.bandwidth.value, b);
  EXPECT_DOUBLE_EQ(placed({0, 2}).inter_alone.bandwidth.value, b);
}

TEST(Torus, ARingOfTwoSwitchesUsesBothCables) {
  Fabric f = torus_of({2});
  f.parallel_cables = 4;  // with the two ways round, as many as a node has NICs
  const Cluster c = joined(f, 2);
  EXPECT_DOUBLE_EQ(place_group(c, std::vector<std::int64_t>{0, 8}).inter.bandwidth.value,
                   c.nic_bandwidth.value);
}

TEST(Families, LookTheSameOnePeriodLater) {
  for (const Cluster& c : one_of_each()) {
    const std::int64_t period = symmetry_period(c), world = c.world_size();
    for (std::int64_t a = 0; a + period < world; a += 3) {
      for (std::int64_t b = 0; b + period < world; b += 5) {
        ASSERT_EQ(route(c, a, b).latency, route(c, a + period, b + period).latency);
        if (a == b) continue;
        const auto here = place_group(c, std::vector<std::int64_t>{a, b});
        const auto there = place_group(c, std::vector<std::int64_t>{a + period, b + period});
        ASSERT_EQ(here.inter.bandwidth, there.inter.bandwidth);
        ASSERT_EQ(here.inter_alone.bandwidth, there.inter_alone.bandwidth);
      }
    }
  }
}

TEST(Families, AloneAGroupHasAtLeastItsShare) {
  for (const Cluster& c : one_of_each()) {
    for (std::int64_t stride : {4, 8, 16, 24}) {
      std::vector<std::int64_t> group;
      for (std::int64_t d = 0; d < c.world_size(); d += stride) group.push_back(d);
      const GroupPlacement g = place_group(c, group);
      if (g.nodes == 1) continue;
      EXPECT_LE(g.inter.bandwidth, g.inter_alone.bandwidth);
      EXPECT_LE(g.inter_alone.bandwidth, c.nic_bandwidth);
      EXPECT_GT(g.inter.bandwidth.value, 0);
    }
  }
}

TEST(Families, RefuseSizesThatDoNotFit) {
  EXPECT_THROW(joined(torus_of({4, 4}), 15), InputError);
  EXPECT_THROW(joined(torus_of({}), 4), InputError);
  EXPECT_THROW(joined(dragonfly_with(1), 4 * 6), InputError);  // 6 groups, 4 cables each
}

std::string words_of(std::int64_t nodes, const Fabric& fabric) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = nodes, .own_fabric = fabric});
  return c.graph->cabling->in_words();
}

// Pods of 32 nodes have 8 leafs. A spine has a cable to each leaf, and 64 ports.
TEST(InWords, ATreeSaysItsLevelsAndWhereSwitchesHaveTooFewPorts) {
  const Fabric f = find_fabric("ndr400");
  const std::string words = "rail-optimised tree of 2 levels of switches, 1 : 1 at leafs";
  EXPECT_EQ(words_of(8 * 32, f), words);
  EXPECT_EQ(words_of(8 * 32 + 1, f), words + "; spines would need 72 ports, and a switch has 64");
  EXPECT_EQ(words_of(8, three_levels(2, 3)),
            "rail-optimised tree of 3 levels of switches, 2 : 1 at leafs, 3 : 1 at spines");
}

// A router has 4 nodes' 32 NICs, a cable to each of 7 others and 8 to other groups.
TEST(InWords, ADragonflySaysWhereItIsNarrower) {
  EXPECT_EQ(words_of(64, fabric_with(Topology::kDragonfly)),
            "dragonfly of 2 groups of 8 routers, 4.57 : 1 from a router into its group (32 NICs, 7 "
            "cables), 4 : 1 from a group to others (256 NICs, 64 cables)");
}

}  // namespace plait::families_test
