#include "topologies/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/error.h"

namespace plait {
namespace {

/// A link once, not once per direction: seen from the vertex that was made first.
template <class Use>
void for_each_link(const LinkGraph& g, Use use) {
  for (VertexId v = 0; v < boost::num_vertices(g); ++v) {
    for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
      const VertexId to = boost::target(*e, g);
      if (v < to) use(v, to, g[*e]);
    }
  }
}

/// Of a fat tree's levels: what comes from below over what leads up.
std::vector<LevelRatio> ratios_of(const LinkGraph& g, const Fabric& fabric) {
  std::map<VertexKind, double> down, up;
  for_each_link(g, [&](VertexId a, VertexId b, const Link& l) {
    const auto [lower, upper] = std::minmax(g[a].kind, g[b].kind);
    if (lower == upper || !is_fabric_switch(upper)) return;
    down[upper] += l.bandwidth.value;
    up[lower] += l.bandwidth.value;
  });
  std::vector<LevelRatio> out;
  for (const auto& [level, bandwidth] : down) {
    if (!up.contains(level)) continue;
    const double full =
        level == VertexKind::kLeaf ? fabric.oversubscription : fabric.spine_oversubscription;
    out.push_back({level, bandwidth / up[level], full});
  }
  return out;
}

std::vector<Diversity> diversity_of(const Cluster& cluster, const Machine& machine) {
  const std::int64_t n = cluster.devices_per_node, all = cluster.world_size();
  const std::int64_t pod = n * cluster.graph->fabric.nodes_per_pod;
  std::vector<Diversity> out;
  const auto add = [&](std::string scope, std::int64_t to) {
    const VertexId end = machine.devices[static_cast<std::size_t>(to)];
    out.push_back({std::move(scope), 0, to, shortest_ways(machine.links, machine.devices[0], end)});
  };
  if (n > 1) add("in a node", n - 1);
  if (all > n && pod > n) add("in a pod, same place", n);
  if (all > n && pod > n && n > 1) add("in a pod, another place", 2 * n - 1);
  if (all > pod) add("across pods", pod);
  return out;
}

/// Pairs of nodes that are as close as none before them. In an even machine routes between other
/// pairs, from and to the same places, are like theirs.
class FirstSoClose {
 public:
  explicit FirstSoClose(const Graph& graph) : graph_(graph) {}

  /// Of the pairs from this node on, the second ones in order.
  std::vector<std::int64_t> others_of(std::int64_t node) {
    std::vector<std::int64_t> out;
    for (std::int64_t other = 0; other < graph_.nodes; ++other) {
      if (graph_.uneven() || seen_.insert(closeness(node, other)).second) out.push_back(other);
    }
    return out;
  }

 private:
  /// A node with itself, then in one pod, then as the cabling has it.
  std::tuple<bool, bool, std::int64_t> closeness(std::int64_t a, std::int64_t b) const {
    if (a == b) return {true, true, 0};
    return {false, graph_.pod(a) == graph_.pod(b), graph_.cabling->closeness(a, b)};
  }

  const Graph& graph_;
  std::set<std::tuple<bool, bool, std::int64_t>> seen_;
};

}  // namespace

std::vector<VertexCount> count_vertices(const LinkGraph& graph) {
  std::map<VertexKind, std::int64_t> counts;
  for (VertexId v = 0; v < boost::num_vertices(graph); ++v) {
    if (!graph[v].way_down) ++counts[graph[v].kind];
  }
  std::vector<VertexCount> out;
  for (const auto& [kind, count] : counts) out.push_back({kind, count});
  return out;
}

std::vector<LinkCount> count_links(const LinkGraph& graph) {
  std::map<std::tuple<LinkClass, VertexKind, VertexKind, double, double>, std::int64_t> counts;
  for_each_link(graph, [&](VertexId a, VertexId b, const Link& l) {
    const auto [low, high] = std::minmax(graph[a].kind, graph[b].kind);
    ++counts[{l.link, low, high, -l.bandwidth.value, l.latency.value}];
  });
  std::vector<LinkCount> out;
  for (const auto& [key, count] : counts) {
    const auto& [link, from, to, minus_bandwidth, latency] = key;
    out.push_back({link, from, to, count, BytesPerSecond(-minus_bandwidth), Seconds(latency)});
  }
  return out;
}

Diameter diameter_of(const Cluster& cluster, const Watch& watch) {
  const std::int64_t n = cluster.devices_per_node;
  const std::int64_t unlike = std::min(symmetry_period(cluster), cluster.world_size()) / n;
  FirstSoClose first_so_close(*cluster.graph);
  Diameter out;
  int hops_of_pair = 0;  // where latencies are alike, or nothing takes time
  for (std::int64_t a = 0; a < unlike; ++a) {
    if (watch) watch(a * n, unlike * n);
    const std::vector<std::int64_t> others = first_so_close.others_of(a);
    for (std::int64_t from = a * n; from < (a + 1) * n; ++from) {
      for (const std::int64_t b : others) {
        for (std::int64_t to = b * n; to < (b + 1) * n; ++to) {
          const Path path = route(cluster, from, to);
          out.hops = std::max(out.hops, path.hops);
          const bool longer = path.latency > out.latency ||
                              (path.latency == out.latency && path.hops > hops_of_pair);
          if (!longer) continue;
          hops_of_pair = path.hops;
          out.latency = path.latency;
          out.from = from, out.to = to;
        }
      }
    }
  }
  return out;
}

TopologySummary inventory(const Cluster& cluster, const Machine& machine) {
  TopologySummary out;
  out.name = cluster.name;
  out.device = cluster.device.name;
  if (cluster.graph->cabling) out.fabric = cluster.graph->cabling->in_words();
  for (const OtherKind& o : cluster.others) out.device += " + " + o.device.name;
  out.devices = cluster.world_size();
  std::int64_t rest = out.devices;
  for (const OtherKind& o : cluster.others) {
    out.kinds.emplace_back(o.device.name, (o.last - o.first + 1) * cluster.devices_per_node);
    rest -= out.kinds.back().second;
  }
  if (!out.kinds.empty() && rest > 0)
    out.kinds.insert(out.kinds.begin(), {cluster.device.name, rest});
  out.nodes = cluster.nodes;
  out.devices_per_node = cluster.devices_per_node;
  out.vertices = count_vertices(machine.links);
  out.links = count_links(machine.links);
  return out;
}

TopologySummary summarize(const Cluster& cluster, const Watch& watch) {
  if (cluster.world_size() > kMostDevicesShown) {
    throw InputError(
        {.code = "T001",
         .problem = fmt::format("{} devices are too many to write out", cluster.world_size()),
         .where = {.file = {}, .path = "cluster.nodes"},
         .expected = fmt::format("at most {} devices", kMostDevicesShown),
         .cure = "show fewer nodes (--nodes): pods are alike"});
  }
  const Machine machine = expand(*cluster.graph);
  TopologySummary out = inventory(cluster, machine);
  const Island& island = cluster.graph->kinds[0].island;
  const auto n = static_cast<std::size_t>(cluster.devices_per_node);
  if (n > 1) out.cuts.push_back(cut_of({island.links, island.devices}, n / 2, "halves of a node"));
  if (cluster.nodes > 1) {
    const auto nodes = static_cast<std::size_t>(cluster.nodes);
    out.cuts.push_back(cut_of(machine, nodes / 2 * n, "halves of the machine"));
  }
  out.diameter = diameter_of(cluster, watch);
  out.diversity = diversity_of(cluster, machine);
  out.oversubscription = ratios_of(machine.links, cluster.graph->fabric);
  return out;
}

}  // namespace plait
