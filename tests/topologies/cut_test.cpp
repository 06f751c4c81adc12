// Maximum flow on the graph of colours against maximum flow on the machine itself.
#include "topologies/cut.h"

#include <gtest/gtest.h>

#include "tests/topologies/joinable.h"
#include "topologies/catalogue.h"
#include "topologies/max_flow.h"
#include "topologies/symmetry.h"

namespace plait::cut_test {

std::int64_t flow_on_every_link(const Machine& machine, std::size_t first) {
  const std::size_t n = boost::num_vertices(machine.links);
  std::vector<Arc> arcs;
  for (VertexId v = 0; v < n; ++v) {
    for (auto [e, end] = boost::out_edges(v, machine.links); e != end; ++e) {
      arcs.push_back({v, boost::target(*e, machine.links),
                      static_cast<std::int64_t>(machine.links[*e].bandwidth.value)});
    }
  }
  const std::int64_t unlimited = 1'000'000'000'000'000;
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    if (d < first) arcs.push_back({n, machine.devices[d], unlimited});
    if (d >= first) arcs.push_back({machine.devices[d], n + 1, unlimited});
  }
  return max_flow(n + 2, arcs, n, n + 1).value;
}

TEST(Cut, EqualsTheMaximumFlowOverEveryLink) {
  for (const std::string& name : joinable_names()) {
    SCOPED_TRACE(name);
    ClusterSpec spec{.preset = name, .nodes = 5, .nodes_per_pod = 2, .oversubscription = 1.5};
    if (name == "gb200-nvl72") spec.devices_per_node = 8;
    const Cluster c = make_cluster(spec);
    const Machine machine = expand(*c.graph);
    const auto n = static_cast<std::size_t>(c.devices_per_node);
    for (const std::size_t first : {std::size_t{1}, n, 2 * n, 3 * n + 1}) {
      EXPECT_EQ(cut_of(machine, first, "").bandwidth.value,
                static_cast<double>(flow_on_every_link(machine, first)))
          << first;
    }
  }
}

TEST(MaxFlow, OfTheTextbookNetworkIs23) {
  // Cormen, Leiserson, Rivest and Stein, Introduction to Algorithms, figure 26.1.
  const std::vector<Arc> arcs = {{0, 1, 16}, {0, 2, 13}, {1, 3, 12}, {2, 1, 4}, {3, 2, 9},
                                 {2, 4, 14}, {4, 3, 7},  {3, 5, 20}, {4, 5, 4}};
  const MaxFlow flow = max_flow(6, arcs, 0, 5);
  EXPECT_EQ(flow.value, 23);
  EXPECT_EQ(flow.source_side, (std::vector<bool>{true, true, true, false, true, false}));
}

TEST(Colours, AlikeVerticesShareOneAndAMarkSpreads) {
  const Cluster c = make_cluster({.preset = "hgx-h100", .nodes = 4});
  const Machine machine = expand(*c.graph);
  std::vector<std::uint32_t> colours(boost::num_vertices(machine.links));
  const auto all = refine_colours(machine.links, colours);
  for (const VertexId d : machine.devices) EXPECT_EQ(all[d], all[machine.devices[0]]);
  colours[machine.devices[0]] = 1;
  const auto marked = refine_colours(machine.links, colours);
  EXPECT_NE(marked[machine.devices[1]], marked[machine.devices[2]]);  // same PCIe switch as 0
  EXPECT_EQ(marked[machine.devices[2]], marked[machine.devices[3]]);
  EXPECT_EQ(marked[machine.devices[9]], marked[machine.devices[17]]);
}

}  // namespace plait::cut_test
