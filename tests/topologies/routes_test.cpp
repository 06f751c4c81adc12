// route() answers from three small tables; the oracle here is the shortest path on the whole
// machine, every island, leaf and spine written out, found by relaxing all links until nothing
// changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/time.h"
#include "tests/topologies/joinable.h"
#include "topologies/catalogue.h"
#include "topologies/graph.h"

namespace plait::routes_test {

using Label = std::pair<SimTime, double>;  // latency, minus what the narrowest link carries
constexpr Label kNone = {std::numeric_limits<SimTime>::max(), 0};

/// As a NIC's rate: traffic gets less of a PCIe link.
double carried(LinkClass link, BytesPerSecond bandwidth) {
  return over(link, bandwidth, {}).carried();
}

/// Best labels from `origin` over the links that `usable` accepts.
template <class Usable>
std::vector<Label> relax_until_stable(const LinkGraph& g, VertexId origin, Usable usable) {
  std::vector<Label> best(boost::num_vertices(g), kNone);
  best[origin] = {0, -std::numeric_limits<double>::infinity()};
  for (bool changed = true; changed;) {
    changed = false;
    for (VertexId u = 0; u < boost::num_vertices(g); ++u) {
      const bool forwards = u == origin || g[u].kind != VertexKind::kDevice;
      if (!forwards || best[u] == kNone) continue;
      for (auto [e, end] = boost::out_edges(u, g); e != end; ++e) {
        if (!usable(g[*e])) continue;
        const Label label = {best[u].first + to_sim_time(g[*e].latency),
                             std::max(best[u].second, -carried(g[*e].link, g[*e].bandwidth))};
        Label& there = best[boost::target(*e, g)];
        if (label < there) there = label, changed = true;
      }
    }
  }
  return best;
}

void expect_all_pairs_agree(const ClusterSpec& spec) {
  const Cluster cluster = make_cluster(spec);
  const Machine machine = expand(*cluster.graph);
  ASSERT_EQ(static_cast<std::int64_t>(machine.devices.size()), cluster.world_size());
  for (std::int64_t from = 0; from < cluster.world_size(); ++from) {
    const VertexId origin = machine.devices[static_cast<std::size_t>(from)];
    const auto over_nvlink = relax_until_stable(
        machine.links, origin, [](const Link& l) { return l.link == LinkClass::kNvlink; });
    const auto over_all =
        relax_until_stable(machine.links, origin, [](const Link&) { return true; });
    for (std::int64_t to = 0; to < cluster.world_size(); ++to) {
      const VertexId end = machine.devices[static_cast<std::size_t>(to)];
      const Label& expected = over_nvlink[end] == kNone ? over_all[end] : over_nvlink[end];
      const Path path = route(cluster, from, to);
      ASSERT_EQ(to_sim_time(path.latency), expected.first) << from << " -> " << to;
      if (from == to) continue;
      ASSERT_EQ(carried(path.link, path.bandwidth), -expected.second) << from << " -> " << to;
    }
  }
}

TEST(Routes, EqualPlainShortestPathsOnTheWholeMachine) {
  for (const std::string& name : joinable_names()) {
    SCOPED_TRACE(name);
    ClusterSpec spec{.preset = name, .nodes = 5, .nodes_per_pod = 2, .oversubscription = 2};
    if (name == "gb200-nvl72") spec.devices_per_node = 8;
    expect_all_pairs_agree(spec);
  }
}

TEST(Routes, EqualPlainShortestPathsWhenPodsHaveOneNode) {
  expect_all_pairs_agree({.preset = "dgx-a100", .nodes = 3, .nodes_per_pod = 1});
}

TEST(Routes, EqualPlainShortestPathsInOnePod) {
  expect_all_pairs_agree({.preset = "pcie-8", .nodes = 3, .nodes_per_pod = 4});
}

TEST(Routes, AreTheSameBothWays) {
  for (const std::string& name : joinable_names()) {
    const Cluster c = make_cluster({.preset = name, .nodes = 3, .nodes_per_pod = 2});
    const std::int64_t n = c.world_size();
    for (std::int64_t a = 0; a < n; a += 3) {
      for (std::int64_t b = 0; b < n; b += 5) {
        const Path there = route(c, a, b), back = route(c, b, a);
        ASSERT_EQ(there.latency, back.latency);
        ASSERT_EQ(there.bandwidth, back.bandwidth);
        ASSERT_EQ(there.hops, back.hops);
        ASSERT_EQ(there.link, back.link);
      }
    }
  }
}

}  // namespace plait::routes_test
