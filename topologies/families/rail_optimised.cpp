// Given P nodes per pod with k NICs on r rails, a leaf has D = P * ceil(k / r) cables of bandwidth
// B down. With oversubscription o its cables up carry D * B / o in total, spread evenly over S =
// ceil(D / o) spines. S never exceeds the cables, so each spine has one cable from each leaf, of B
// when D / o is whole and slightly less otherwise.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "topologies/families/families.h"

namespace plait {
namespace {

double cables_down(const Fabric& fabric, const Island& island) {
  const auto nics = static_cast<std::int64_t>(island.nics.size());
  return static_cast<double>(fabric.nodes_per_pod * ceil_div(nics, fabric.rails));
}

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

}  // namespace

std::int64_t spines_of(const Fabric& fabric, const Island& island) {
  return static_cast<std::int64_t>(
      std::ceil(cables_down(fabric, island) / fabric.oversubscription));
}

Machine rail_optimised(const Island& island, const Fabric& fabric,
                       std::span<const std::int64_t> pod_of_node, std::int64_t spines) {
  Machine machine;
  LinkGraph& g = machine.links;
  std::vector<VertexId> first_of_node;
  for (std::size_t node = 0; node < pod_of_node.size(); ++node) {
    first_of_node.push_back(append(g, island.links));
    for (const VertexId d : island.devices) machine.devices.push_back(first_of_node[node] + d);
  }
  if (pod_of_node.size() < 2) return machine;

  const std::int64_t pods = 1 + *std::max_element(pod_of_node.begin(), pod_of_node.end());
  const VertexId first_leaf = boost::num_vertices(g);
  for (std::int64_t leaf = 0; leaf < pods * fabric.rails; ++leaf) {
    boost::add_vertex({VertexKind::kLeaf, leaf, fabric.switch_latency}, g);
  }
  for (std::size_t node = 0; node < pod_of_node.size(); ++node) {
    for (std::size_t k = 0; k < island.nics.size(); ++k) {
      const std::int64_t rail = static_cast<std::int64_t>(k) % fabric.rails;
      const std::int64_t leaf = pod_of_node[node] * fabric.rails + rail;
      add_link(g, first_of_node[node] + island.nics[k], first_leaf + static_cast<VertexId>(leaf),
               fabric.link, fabric.bandwidth, fabric.cable_latency);
    }
  }
  if (pods * fabric.rails < 2) return machine;
  const BytesPerSecond up =
      fabric.bandwidth * (cables_down(fabric, island) / fabric.oversubscription /
                          static_cast<double>(spines_of(fabric, island)));
  for (std::int64_t spine = 0; spine < spines; ++spine) {
    const VertexId s = boost::add_vertex({VertexKind::kSpine, spine, fabric.switch_latency}, g);
    for (std::int64_t leaf = 0; leaf < pods * fabric.rails; ++leaf) {
      add_link(g, first_leaf + static_cast<VertexId>(leaf), s, fabric.link, up,
               fabric.cable_latency);
    }
  }
  return machine;
}

}  // namespace plait
