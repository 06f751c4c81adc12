#include "topologies/graph.h"

#include <algorithm>
#include <array>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <limits>
#include <tuple>

#include "core/error.h"
#include "core/time.h"
#include "topologies/families/families.h"

namespace plait {
namespace {

/// What a route costs so far. NVLink is preferred to whatever else is there, as drivers and NCCL
/// do. (Only devices and NVSwitches have NVLinks and devices do not forward, so a route is NVLink
/// throughout or not at all, and the order of Distances survives extension, as Dijkstra needs.)
/// Latency in whole picoseconds: ties are exact and both directions of a route agree.
struct Distance {
  bool beyond_nvlink = false;
  SimTime latency = 0;
  double bandwidth = std::numeric_limits<double>::infinity();  // of the narrowest link
  int hops = 0;
  LinkClass link = LinkClass::kNvlink;

  friend bool operator<(const Distance& a, const Distance& b) {
    return std::tuple(a.beyond_nvlink, a.latency, -a.bandwidth, a.hops, a.link) <
           std::tuple(b.beyond_nvlink, b.latency, -b.bandwidth, b.hops, b.link);
  }
};
constexpr Distance kUnreachable = {true, std::numeric_limits<SimTime>::max(), 0,
                                   std::numeric_limits<int>::max(), LinkClass::kNvlink};

Distance extend(const Distance& d, const Link& step) {
  if (d.hops == kUnreachable.hops) return d;
  Distance out = d;
  out.latency += to_sim_time(step.latency);
  out.hops += 1;
  out.beyond_nvlink |= step.link != LinkClass::kNvlink;
  // Of two links that are equally narrow the outer one (fabric before PCIe) names the route.
  const auto narrowness = [](double bandwidth, LinkClass c) {
    return std::pair(bandwidth, -int(c));
  };
  if (d.hops == 0 ||
      narrowness(step.bandwidth.value, step.link) < narrowness(d.bandwidth, d.link)) {
    out.bandwidth = step.bandwidth.value;
    out.link = step.link;
  }
  return out;
}

/// Links out of `origin` and out of everything that is not a device.
struct Forwards {
  const LinkGraph* graph = nullptr;
  VertexId origin = 0;
  bool operator()(const LinkGraph::edge_descriptor& e) const {
    const VertexId from = boost::source(e, *graph);
    return from == origin || (*graph)[from].kind != VertexKind::kDevice;
  }
};

/// Appends the routes to the devices of `node`, in their order.
void append_row(std::vector<Path>& table, const std::vector<Path>& routes, const Machine& machine,
                std::size_t n, std::size_t node) {
  for (std::size_t to = 0; to < n; ++to) {
    table.push_back(routes[machine.devices[node * n + to]]);
    PLAIT_CHECK(table.back().hops >= 0, "the topology does not connect all of its devices");
  }
}

}  // namespace

std::string_view name_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::kDevice: return "device";
    case VertexKind::kNvSwitch: return "nvswitch";
    case VertexKind::kPcieSwitch: return "pcie switch";
    case VertexKind::kHost: return "host";
    case VertexKind::kNic: return "nic";
    case VertexKind::kLeaf: return "leaf";
    case VertexKind::kSpine: return "spine";
  }
  return "?";
}

void add_link(LinkGraph& graph, VertexId a, VertexId b, LinkClass link, BytesPerSecond bandwidth,
              Seconds wire) {
  const Seconds latency = wire + (graph[a].latency + graph[b].latency) * 0.5;
  boost::add_edge(a, b, Link{link, bandwidth, latency}, graph);
  boost::add_edge(b, a, Link{link, bandwidth, latency}, graph);
}

std::vector<Path> routes_from(const LinkGraph& graph, VertexId origin) {
  const boost::filtered_graph<LinkGraph, Forwards> open(graph, Forwards{&graph, origin});
  std::vector<Distance> distance(boost::num_vertices(graph));
  std::vector<VertexId> previous(boost::num_vertices(graph));
  const auto index = boost::get(boost::vertex_index, graph);
  boost::dijkstra_shortest_paths(
      open, origin, boost::make_iterator_property_map(previous.begin(), index),
      boost::make_iterator_property_map(distance.begin(), index),
      boost::get(boost::edge_bundle, graph), index, std::less<Distance>(), extend, kUnreachable,
      Distance{}, boost::default_dijkstra_visitor());
  std::vector<Path> out;
  out.reserve(distance.size());
  for (const Distance& d : distance) {
    const bool reached = d.hops != kUnreachable.hops;
    out.push_back(reached ? Path{d.link, BytesPerSecond(d.bandwidth), to_seconds(d.latency), d.hops}
                          : Path{LinkClass::kNvlink, {}, {}, -1});
  }
  return out;
}

std::shared_ptr<const Graph> make_graph(const NodeSpec& node, const Device& device,
                                        const Fabric& fabric, std::int64_t nodes) {
  // Made in place: copying a Boost graph costs more than making it.
  const std::shared_ptr<Graph> graph(
      new Graph{.island = make_island(node, device, fabric), .fabric = fabric, .nodes = nodes});
  const Island& one = graph->island;
  const std::size_t n = one.devices.size();
  PLAIT_CHECK(nodes == 1 || !one.nics.empty(), "several nodes need NICs");
  for (std::size_t d = 0; d < one.nic_of.size(); ++d) {
    graph->devices_per_nic.push_back(
        std::count(one.nic_of.begin(), one.nic_of.end(), one.nic_of[d]));
  }
  // The smallest machine that shows all cases: two nodes in one pod, one in another. A longer way
  // through a further node, pod or spine can never be shorter, as they are copies of these.
  const std::array<std::int64_t, 3> pods = {0, 0, 1};
  const std::size_t shown = nodes == 1 ? 1 : nodes > fabric.nodes_per_pod ? 3 : 2;
  const Machine machine = rail_optimised(one, fabric, std::span(pods).first(shown), 1);
  const std::array<std::vector<Path>*, 3> tables = {&graph->same_node, &graph->same_pod,
                                                    &graph->across_pods};
  for (std::size_t from = 0; from < n; ++from) {
    const std::vector<Path> routes = routes_from(machine.links, machine.devices[from]);
    for (std::size_t k = 0; k < shown; ++k) {
      append_row(*tables[k], routes, machine, n, k);
    }
  }
  return graph;
}

Machine expand(const Graph& graph) {
  std::vector<std::int64_t> pods;
  for (std::int64_t node = 0; node < graph.nodes; ++node) {
    pods.push_back(node / graph.fabric.nodes_per_pod);
  }
  return rail_optimised(graph.island, graph.fabric, pods, spines_of(graph.fabric, graph.island));
}

}  // namespace plait
