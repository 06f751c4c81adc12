#include "topologies/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "topologies/families/families.h"
#include "topologies/faults.h"

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
void append(LinkGraph& graph, const Graph& machine, std::vector<VertexId> ends) {
  const Cabling& cabling = *machine.cabling;
  const LinkClass link = machine.fabric.link;
  for (std::int64_t s = 0; s < cabling.switches(); ++s) {
    ends.push_back(boost::add_vertex(cabling.vertex(s), graph));
  }
  for (std::int64_t c = 0; c < cabling.cables(); ++c) {
    const Cable cable = machine.cable(c);
    if (cable.bandwidth.value <= 0) continue;
    const VertexId a = ends[static_cast<std::size_t>(cable.a)];
    const VertexId b = ends[static_cast<std::size_t>(cable.b)];
    boost::add_edge(a, b, Link{link, cable.bandwidth, cable.latency}, graph);
    boost::add_edge(b, a, Link{link, cable.bandwidth, cable.latency}, graph);
  }
}

IslandKind sound_kind(const NodeSpec& node, const Device& device, const Fabric& fabric) {
  Island island = make_island(node, device, fabric);
  IslandRoutes routes(island, fabric.rails);
  PLAIT_CHECK(routes.connected(), "the topology does not connect all of its devices");
  return make_kind(std::move(island), std::move(routes));
}

/// All ways from the first node, one node for each closeness.
std::vector<std::vector<Distance>> crossings_of(const Graph& graph) {
  std::vector<std::vector<Distance>> out;
  for (std::int64_t node = 1; node < graph.nodes; ++node) {
    const auto close = static_cast<std::size_t>(graph.cabling->closeness(0, node));
    if (out.size() <= close) out.resize(close + 1);
    if (!out[close].empty()) continue;
    for (std::int64_t exit = 0; exit < graph.nics(); ++exit) {
      for (std::int64_t entry = 0; entry < graph.nics(); ++entry) {
        out[close].push_back(graph.walk(graph.port(0, exit), graph.port(node, entry)));
      }
    }
  }
  return out;
}

}  // namespace

std::string_view name_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::kDevice: return "device";
    case VertexKind::kNvSwitch: return "nvswitch";
    case VertexKind::kPcieSwitch: return "pcie switch";
    case VertexKind::kHost: return "host";
    case VertexKind::kNic: return "nic";
    case VertexKind::kMemory: return "memory";
    case VertexKind::kLeaf: return "leaf";
    case VertexKind::kSpine: return "spine";
    case VertexKind::kCore: return "core";
    case VertexKind::kRouter: return "router";
  }
  return "?";
}

void add_link(LinkGraph& graph, VertexId a, VertexId b, LinkClass link, BytesPerSecond bandwidth,
              Seconds wire) {
  add_one_way(graph, a, b, link, bandwidth, wire);
  add_one_way(graph, b, a, link, bandwidth, wire);
}

void add_one_way(LinkGraph& graph, VertexId from, VertexId to, LinkClass link,
                 BytesPerSecond bandwidth, Seconds wire) {
  const Seconds latency = wire + (graph[from].latency + graph[to].latency) * 0.5;
  boost::add_edge(from, to, Link{link, bandwidth, latency}, graph);
}

Cable Graph::cable(std::int64_t number) const {
  Cable out = cabling->cable(number);
  out.bandwidth *= factor(number);
  out.spread *= factor(number);
  return out;
}

void Graph::way(std::int64_t from, std::int64_t to, std::uint64_t key,
                std::vector<Hop>& hops) const {
  const auto ways = static_cast<std::uint64_t>(cabling->ways(from, to));
  if (cable_factor.empty()) {
    return cabling->way(from, to, static_cast<std::int64_t>(key % ways), hops);
  }
  std::vector<std::int64_t> working;
  const std::size_t first = hops.size();
  for (std::int64_t w = 0; w < static_cast<std::int64_t>(ways); ++w) {
    hops.resize(first);
    cabling->way(from, to, w, hops);
    const auto begin = hops.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::all_of(begin, hops.end(), [this](Hop hop) { return factor(hop / 2) > 0; })) {
      working.push_back(w);
    }
  }
  hops.resize(first);
  if (!working.empty()) return cabling->way(from, to, working[key % working.size()], hops);
  throw InputError({.code = "C009",
                    .problem = fmt::format("failures leave no way from NIC {} of node {} to NIC {} "
                                           "of node {}",
                                           from % nics(), from / nics(), to % nics(), to / nics()),
                    .expected = "a fabric that joins all nodes",
                    .cure = "remove a fault"});
}

Distance Graph::crossing(std::int64_t from, std::int64_t to) const {
  const std::int64_t a = from / nics(), b = to / nics();
  if (a != b && !crossings.empty()) {
    const auto close = static_cast<std::size_t>(cabling->closeness(a, b));
    if (close < crossings.size() && !crossings[close].empty()) {
      return crossings[close][static_cast<std::size_t>(from % nics() * nics() + to % nics())];
    }
  }
  return walk(from, to);
}

Distance Graph::walk(std::int64_t from, std::int64_t to) const {
  const std::int64_t ways = cable_factor.empty() ? 1 : cabling->ways(from, to);
  Distance best = kUnreachable;
  std::vector<Hop> hops;
  for (std::int64_t w = 0; w < ways; ++w) {
    hops.clear();
    cabling->way(from, to, w, hops);
    Distance d;
    for (const Hop hop : hops) {
      const Cable c = cable(hop / 2);
      const bool spread = fabric.spreading == Spreading::kEven && c.spread.value > 0;
      d = d.then(over(fabric.link, spread ? c.spread : c.bandwidth, c.latency));
    }
    if (d.bandwidth > 0) best = std::min(best, d);
    const auto faulty = [this](Hop hop) { return cable_factor.contains(hop / 2); };
    if (std::ranges::none_of(hops, faulty)) break;  // no way is better
  }
  if (!best.reached()) way(from, to, 0, hops);  // says why
  return best;
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

IslandKind make_kind(Island island, IslandRoutes routes) {
  IslandKind kind = {std::move(island), std::move(routes), {}, {}};
  const std::vector<std::size_t>& nic_of = kind.island.nic_of;
  const LinkGraph& g = kind.island.links;
  for (const std::size_t nic : nic_of) {
    kind.devices_per_nic.push_back(std::count(nic_of.begin(), nic_of.end(), nic));
    BytesPerSecond slot;
    for (auto [edge, end] = boost::out_edges(kind.island.nics[nic], g); edge != end; ++edge)
      slot += g[*edge].bandwidth;
    kind.slot_of_nic.push_back(slot);
  }
  return kind;
}

std::shared_ptr<const Graph> make_graph(const NodeSpec& node, const Device& device,
                                        const Fabric& fabric, std::int64_t nodes,
                                        const std::vector<OtherNodes>& others,
                                        const std::vector<Fault>& faults) {
  auto graph = std::make_shared<Graph>();
  graph->fabric = fabric;
  graph->nodes = nodes;
  graph->kinds.push_back(sound_kind(node, device, fabric));
  for (const OtherNodes& other : others) {
    for (std::int64_t n = other.first; n <= other.last; ++n) {
      graph->kind_of_node[n] = graph->kinds.size();
    }
    graph->kinds.push_back(sound_kind(other.node, other.device, fabric));
  }
  if (nodes > 1) {
    PLAIT_CHECK(!graph->kinds[0].island.nics.empty(), "several nodes need NICs");
    graph->cabling = make_cabling(fabric, nodes, graph->nics());
  }
  if (!faults.empty()) {
    apply_faults(*graph, faults);
  } else if (nodes > 1) {
    graph->crossings = crossings_of(*graph);
  }
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
  if (graph.cabling) append(machine.links, graph, std::move(ports));
  return machine;
}

}  // namespace plait
