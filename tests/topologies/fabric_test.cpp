// How much a fabric carries, by maximum flow on the graph of the whole machine.
#include <gtest/gtest.h>

#include <boost/graph/edmonds_karp_max_flow.hpp>

#include "topologies/catalogue.h"
#include "topologies/graph.h"

namespace plait::fabric_test {

using Flows = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, std::int64_t,
                    boost::property<boost::edge_residual_capacity_t, std::int64_t,
                                    boost::property<boost::edge_reverse_t,
                                                    boost::adjacency_list_traits<
                                                        boost::vecS, boost::vecS,
                                                        boost::directedS>::edge_descriptor>>>>;

struct FlowProblem {
  Flows graph;
  void add(std::size_t a, std::size_t b, double capacity) {
    const auto forth = boost::add_edge(a, b, graph).first;
    const auto back = boost::add_edge(b, a, graph).first;
    boost::put(boost::edge_capacity, graph, forth, static_cast<std::int64_t>(capacity / 1e6));
    boost::put(boost::edge_capacity, graph, back, 0);
    boost::put(boost::edge_reverse, graph, forth, back);
    boost::put(boost::edge_reverse, graph, back, forth);
  }
};

/// Bytes per second from devices [0, half) to devices [half, all) of the cluster.
double flow_between_halves(const Cluster& cluster) {
  const Machine machine = expand(*cluster.graph);
  const std::size_t n = boost::num_vertices(machine.links);
  FlowProblem problem{Flows(n + 2)};
  for (VertexId v = 0; v < n; ++v) {
    for (auto [e, end] = boost::out_edges(v, machine.links); e != end; ++e) {
      problem.add(v, boost::target(*e, machine.links), machine.links[*e].bandwidth.value);
    }
  }
  const std::size_t half = machine.devices.size() / 2;
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    if (d < half) problem.add(n, machine.devices[d], 1e15);
    if (d >= half) problem.add(machine.devices[d], n + 1, 1e15);
  }
  return static_cast<double>(boost::edmonds_karp_max_flow(problem.graph, n, n + 1)) * 1e6;
}

TEST(RailOptimised, WithoutOversubscriptionHalfTheNicsIsTheBisection) {
  const Cluster c = make_cluster({.preset = "dgx-a100", .nodes = 4, .nodes_per_pod = 2});
  EXPECT_NEAR(flow_between_halves(c) / (2 * 8 * c.nic_bandwidth.value), 1, 1e-4);
}

TEST(RailOptimised, OversubscriptionDividesTheBisection) {
  const Cluster c =
      make_cluster({.preset = "dgx-a100", .nodes = 4, .nodes_per_pod = 2, .oversubscription = 2});
  EXPECT_NEAR(flow_between_halves(c) / (2 * 8 * c.nic_bandwidth.value / 2), 1, 1e-4);
}

TEST(RailOptimised, OversubscriptionThatDoesNotDivideIsExactToo) {
  const Cluster c =
      make_cluster({.preset = "dgx-a100", .nodes = 6, .nodes_per_pod = 3, .oversubscription = 1.7});
  EXPECT_NEAR(flow_between_halves(c) / (3 * 8 * c.nic_bandwidth.value / 1.7), 1, 1e-4);
}

TEST(RailOptimised, OnePodIsNotLimitedByItsSpines) {
  const Cluster c =
      make_cluster({.preset = "dgx-a100", .nodes = 2, .nodes_per_pod = 2, .oversubscription = 8});
  EXPECT_NEAR(flow_between_halves(c) / (8 * c.nic_bandwidth.value), 1, 1e-4);
}

TEST(RailOptimised, ALeafPerRailAndPodAndAsManySpinesAsCablesUp) {
  const Cluster c =
      make_cluster({.preset = "hgx-h100", .nodes = 8, .nodes_per_pod = 4, .oversubscription = 2});
  const Machine m = expand(*c.graph);
  int leafs = 0, spines = 0;
  for (VertexId v = 0; v < boost::num_vertices(m.links); ++v) {
    leafs += m.links[v].kind == VertexKind::kLeaf ? 1 : 0;
    spines += m.links[v].kind == VertexKind::kSpine ? 1 : 0;
  }
  EXPECT_EQ(leafs, 2 * 8);
  EXPECT_EQ(spines, 4 / 2);
}

}  // namespace plait::fabric_test
