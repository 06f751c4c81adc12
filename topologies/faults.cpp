#include "topologies/faults.h"

#include <fmt/format.h>

#include <charconv>

#include "core/error.h"

namespace plait {
namespace {

/// A part of the machine: a vertex of an island, or an end of cables.
struct Part {
  std::int64_t node = -1;  // -1: a switch of the fabric
  VertexId vertex = 0;     // in the island
  std::int64_t end = -1;   // of cables, if it is one (Cable)
};

[[noreturn]] void refuse(const std::string& problem, const std::string& expected,
                         const std::string& cure = "correct the names in the fault") {
  throw InputError({.code = "C010", .problem = problem, .expected = expected, .cure = cure});
}

/// Of the same links, named from either end.
bool same_links(const Fault& a, const Fault& b) {
  return (a.at == b.at && a.to == b.to) || (a.at == b.to && a.to == b.at);
}

void refuse_twice(const std::vector<Fault>& faults) {
  for (std::size_t i = 0; i < faults.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before) {
      if (!same_links(faults[before], faults[i])) continue;
      const std::string end = faults[i].to.empty() ? "" : fmt::format(" to \"{}\"", faults[i].to);
      refuse(
          fmt::format("faults.{} and faults.{} are both of \"{}\"{}", before, i, faults[i].at, end),
          "each part once", "remove one of them; the product of both is one factor");
    }
  }
}

Part part_in_node(const Graph& graph, const std::string& name) {
  Part out;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + 5, end, out.node);
  const std::string place(rest, end);
  if (error != std::errc() || out.node < 0 || out.node >= graph.nodes || !place.starts_with(": ")) {
    refuse(fmt::format("there is no \"{}\"", name),
           fmt::format("\"node 0: nic 0\", with a node from 0 to {}", graph.nodes - 1));
  }
  const Island& island = graph.kind(out.node).island;
  for (VertexId v = 0; v < boost::num_vertices(island.links); ++v) {
    const Vertex& vertex = island.links[v];
    if (place != fmt::format(": {} {}", name_of(vertex.kind), vertex.index)) continue;
    out.vertex = v;
    if (vertex.kind == VertexKind::kNic) out.end = graph.port(out.node, vertex.index);
    return out;
  }
  refuse(fmt::format("there is no \"{}\"", name),
         fmt::format("a part of the node, such as \"node {}: device 0\"", out.node));
}

Part part_of(const Graph& graph, const std::string& name) {
  if (name.starts_with("node ")) return part_in_node(graph, name);
  const std::int64_t switches = graph.cabling ? graph.cabling->switches() : 0;
  for (std::int64_t s = 0; s < switches; ++s) {
    if (graph.cabling->name_of(s) == name) return {-1, 0, graph.cabling->ports() + s};
  }
  refuse(fmt::format("there is no \"{}\"", name),
         switches > 0
             ? fmt::format("\"node 0: nic 0\", \"{}\" or another part", graph.cabling->name_of(0))
             : "a part of the node, such as \"node 0: device 0\"");
}

/// Cables of `at`, or those between `at` and `to`.
int damage_cables(Graph& graph, const Part& at, const Part* to, double factor) {
  if (at.end < 0 || !graph.cabling || (to != nullptr && to->end < 0)) return 0;
  const Cabling& cabling = *graph.cabling;
  const bool port = at.end < cabling.ports();
  const std::int64_t first = port ? at.end : 0;
  const std::int64_t last = port ? at.end + 1 : cabling.cables();
  int found = 0;
  for (std::int64_t c = first; c < last; ++c) {
    const Cable cable = cabling.cable(c);
    if (cable.a != at.end && cable.b != at.end) continue;
    if (to != nullptr && cable.a != to->end && cable.b != to->end) continue;
    graph.cable_factor.emplace(c, 1.0).first->second *= factor;
    ++found;
  }
  return found;
}

/// Links of the island at `at`, or those between `at` and `to`.
int damage_links(Island& island, const Part& at, const Part* to, double factor) {
  int found = 0;
  LinkGraph& g = island.links;
  for (VertexId v = 0; v < boost::num_vertices(g); ++v) {
    for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
      const VertexId w = boost::target(*e, g);
      if (v != at.vertex && w != at.vertex) continue;
      if (to != nullptr && v != to->vertex && w != to->vertex) continue;
      g[*e].bandwidth *= factor;
      ++found;
    }
  }
  boost::remove_edge_if([&g](const auto& e) { return g[e].bandwidth.value <= 0; }, g);
  return found;
}

/// What is left of each trunk that has a cable that does not work fully.
void damage_trunks(Graph& graph) {
  const Cabling& cabling = *graph.cabling;
  for (const auto& [cable, factor] : graph.cable_factor) {
    for (const Hop hop : {forth(cable), back(cable)}) graph.trunk_factor[cabling.trunk(hop)] = 0;
  }
  std::map<Hop, std::pair<double, double>> sums;  // left, whole
  for (Hop hop = 0; hop < 2 * cabling.cables(); ++hop) {
    const Hop trunk = cabling.trunk(hop);
    if (!graph.trunk_factor.contains(trunk)) continue;
    const double whole = cabling.cable(hop / 2).bandwidth.value;
    sums[trunk].first += whole * graph.factor(hop / 2);
    sums[trunk].second += whole;
  }
  for (const auto& [trunk, sum] : sums) graph.trunk_factor[trunk] = sum.first / sum.second;
}

[[noreturn]] void refuse_cut_off(std::int64_t node, const std::string& what) {
  throw InputError({.code = "C009",
                    .problem = fmt::format("failures in node {} leave {}", node, what),
                    .expected = "devices that reach each other and, in several nodes, a NIC",
                    .cure = "remove a fault"});
}

/// NICs out of order serve nobody: their devices turn to the nearest one that works.
void move_to_working_nics(Island& island, std::int64_t node, std::int64_t rails) {
  const IslandRoutes routes(island, rails);
  if (!routes.connected()) refuse_cut_off(node, "devices without a way to each other");
  for (std::size_t d = 0; d < island.nic_of.size(); ++d) {
    const auto device = static_cast<std::int64_t>(d);
    if (routes.out(device, routes.nic_of(device)).reached()) continue;
    const std::int64_t other = routes.exit(device);
    if (other < 0) refuse_cut_off(node, fmt::format("device {} without a NIC", d));
    island.nic_of[d] = static_cast<std::size_t>(other);
  }
}

}  // namespace

void apply_faults(Graph& graph, const std::vector<Fault>& faults) {
  refuse_twice(faults);
  std::map<std::int64_t, Island> islands;
  const auto island_of = [&](std::int64_t node) -> Island& {
    return islands.emplace(node, graph.kind(node).island).first->second;
  };
  for (const Fault& fault : faults) {
    const Part at = part_of(graph, fault.at);
    const Part other = fault.to.empty() ? Part() : part_of(graph, fault.to);
    const Part* to = fault.to.empty() ? nullptr : &other;
    int found = damage_cables(graph, at, to, fault.factor);
    // A NIC as a whole is its port: within the node it stays where it is.
    const bool port = to == nullptr && found > 0;
    if (at.node >= 0 && !port && (to == nullptr || to->node == at.node)) {
      found += damage_links(island_of(at.node), at, to, fault.factor);
    }
    if (found == 0) {
      refuse(fmt::format("no link joins \"{}\" and \"{}\"", fault.at, fault.to),
             "two parts with a link between them");
    }
  }
  // A NIC without its cable is out of order too.
  for (const auto& [cable, factor] : graph.cable_factor) {
    if (factor > 0 || cable >= graph.cabling->ports()) continue;
    Island& island = island_of(cable / graph.nics());
    boost::clear_vertex(island.nics[static_cast<std::size_t>(cable % graph.nics())], island.links);
  }
  for (auto& [node, island] : islands) {
    move_to_working_nics(island, node, graph.fabric.rails);
    IslandRoutes routes(island, graph.fabric.rails);
    graph.kind_of_node[node] = graph.kinds.size();
    graph.kinds.push_back(make_kind(std::move(island), std::move(routes)));
  }
  if (!graph.cable_factor.empty()) damage_trunks(graph);
}

}  // namespace plait
