#include "topologies/graph.h"

#include <algorithm>

#include "core/error.h"
#include "topologies/families/families.h"

namespace plait {
namespace {

/// Appends a copy; returns the id of its first vertex.
VertexId append(LinkGraph& graph, const LinkGraph& part) {
  const VertexId first = boost::num_vertices(graph);
  for (VertexId v = 0; v < boost::num_vertices(part); ++v) boost::add_vertex(part[v], graph);
  for (VertexId v = 0; v < boost::num_vertices(part); ++v) {
    for (auto [e, end] = boost::out_edges(v, part); e != end; ++e) {
      boost::add_edge(first + v, first + boost::target(*e, part), part[*e], graph);
    }
  }
  return first;
}

/// Appends the switches and cables of the fabric; `ends` are the vertices of the NIC ports.
void append(LinkGraph& graph, const Cabling& cabling, LinkClass link, std::vector<VertexId> ends) {
  for (std::int64_t s = 0; s < cabling.switches(); ++s) {
    ends.push_back(boost::add_vertex(cabling.vertex(s), graph));
  }
  for (std::int64_t c = 0; c < cabling.cables(); ++c) {
    const Cable cable = cabling.cable(c);
    const VertexId a = ends[static_cast<std::size_t>(cable.a)];
    const VertexId b = ends[static_cast<std::size_t>(cable.b)];
    boost::add_edge(a, b, Link{link, cable.bandwidth, cable.latency}, graph);
    boost::add_edge(b, a, Link{link, cable.bandwidth, cable.latency}, graph);
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

Distance Graph::crossing(std::int64_t from, std::int64_t to) const {
  std::vector<Hop> hops;
  cabling->way(from, to, 0, hops);
  Distance out;
  for (const Hop hop : hops) {
    const Cable cable = cabling->cable(hop / 2);
    out = out.then(over(fabric.link, cable.bandwidth, cable.latency));
  }
  return out;
}

Gates Graph::gates(std::int64_t from, std::int64_t to) const {
  const std::int64_t n = size(), a = from / n, b = to / n, d = from % n, e = to % n;
  const IslandRoutes& here = kind(a).routes;
  const IslandRoutes& there = kind(b).routes;
  const Gates nearest = {here.exit(d), there.entry(e)};
  const std::int64_t rails = here.rails();
  if (pod(a) != pod(b) || nearest.exit % rails == nearest.entry % rails) return nearest;
  // Under the same leafs, a rail in common may save more than the nearest NICs.
  Gates best = nearest;
  Distance least = kUnreachable;
  for (std::int64_t r = 0; r < rails; ++r) {
    const Gates g = {here.exit(d, r), there.entry(e, r)};
    if (g.exit < 0 || g.entry < 0) continue;
    const Distance ends = here.out(d, g.exit).then(there.in(g.entry, e));
    if (ends < least) least = ends, best = g;
  }
  const auto whole = [&](const Gates& g) {
    return here.out(d, g.exit)
        .then(crossing(port(a, g.exit), port(b, g.entry)))
        .then(there.in(g.entry, e));
  };
  return whole(best) < whole(nearest) ? best : nearest;
}

Distance Graph::distance(std::int64_t from, std::int64_t to) const {
  const std::int64_t n = size(), a = from / n, b = to / n;
  if (a == b) return kind(a).routes.between(from % n, to % n);
  const Gates g = gates(from, to);
  return kind(a)
      .routes.out(from % n, g.exit)
      .then(crossing(port(a, g.exit), port(b, g.entry)))
      .then(kind(b).routes.in(g.entry, to % n));
}

std::shared_ptr<const Graph> make_graph(const NodeSpec& node, const Device& device,
                                        const Fabric& fabric, std::int64_t nodes) {
  auto graph = std::make_shared<Graph>();
  graph->fabric = fabric;
  graph->nodes = nodes;
  Island island = make_island(node, device, fabric);
  IslandRoutes routes(island, fabric.rails);
  graph->kinds.push_back({std::move(island), std::move(routes), {}});
  IslandKind& kind = graph->kinds.back();
  for (const std::size_t nic : kind.island.nic_of) {
    kind.devices_per_nic.push_back(
        std::count(kind.island.nic_of.begin(), kind.island.nic_of.end(), nic));
  }
  if (nodes == 1) return graph;
  PLAIT_CHECK(!kind.island.nics.empty(), "several nodes need NICs");
  graph->cabling = fat_tree(fabric, nodes, graph->nics());
  return graph;
}

Machine expand(const Graph& graph) {
  Machine machine;
  std::vector<VertexId> ports;
  for (std::int64_t node = 0; node < graph.nodes; ++node) {
    const Island& island = graph.kind(node).island;
    const VertexId first = append(machine.links, island.links);
    for (const VertexId d : island.devices) machine.devices.push_back(first + d);
    for (const VertexId k : island.nics) ports.push_back(first + k);
  }
  if (graph.cabling) append(machine.links, *graph.cabling, graph.fabric.link, std::move(ports));
  return machine;
}

}  // namespace plait
