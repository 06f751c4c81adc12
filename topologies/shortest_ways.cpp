#include "topologies/shortest_ways.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/time.h"
#include "topologies/island_routes.h"
#include "topologies/max_flow.h"

namespace plait {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int32_t>::max();

struct Step {
  VertexId from = 0, to = 0;
};

/// The links of all shortest ways, those nearest to the origin first.
std::vector<Step> steps_of(const LinkGraph& graph, const std::vector<Distance>& routes,
                           VertexId from, VertexId to) {
  const bool nvlink = !routes[to].beyond_nvlink;
  const auto at = [&](VertexId v) { return routes[v].latency; };
  std::vector<Step> forward;  // links on a shortest way to anywhere
  for (VertexId v = 0; v < boost::num_vertices(graph); ++v) {
    if (!routes[v].reached() || (v != from && graph[v].kind == VertexKind::kDevice)) continue;
    for (auto [e, end] = boost::out_edges(v, graph); e != end; ++e) {
      if (nvlink != (graph[*e].link == LinkClass::kNvlink)) continue;
      const VertexId next = boost::target(*e, graph);
      // Links may take no time; counting hops too keeps ways from running in circles.
      const bool nearest = at(v) + to_sim_time(graph[*e].latency) == at(next);
      if (nearest && routes[v].hops + 1 == routes[next].hops) forward.push_back({v, next});
    }
  }
  std::stable_sort(forward.begin(), forward.end(), [&](const Step& a, const Step& b) {
    return routes[a.from].hops < routes[b.from].hops;
  });
  std::vector<bool> leads(boost::num_vertices(graph));  // to `to`
  leads[to] = true;
  std::vector<Step> out;
  for (auto s = forward.rbegin(); s != forward.rend(); ++s) {
    if (!leads[s->to]) continue;
    leads[s->from] = true;
    out.push_back(*s);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

ShortestWays shortest_ways(const LinkGraph& graph, VertexId from, VertexId to) {
  const std::vector<Distance> routes = routes_from(graph, from).distance;
  ShortestWays out;
  if (from == to || !routes[to].reached()) return out;
  out.hops = routes[to].hops;
  out.latency = to_seconds(routes[to].latency);
  const std::vector<Step> steps = steps_of(graph, routes, from, to);
  std::vector<std::int64_t> ways(boost::num_vertices(graph));
  ways[from] = 1;
  std::vector<Arc> all, fabric;
  bool in_fabric = false;
  for (const Step& s : steps) {
    ways[s.to] += ways[s.from];
    const bool between = is_fabric_switch(graph[s.from].kind) && is_fabric_switch(graph[s.to].kind);
    in_fabric |= between;
    all.push_back({s.from, s.to, 1});
    fabric.push_back({s.from, s.to, between ? 1 : kNoLimit});
  }
  out.ways = ways[to];
  out.disjoint = max_flow(ways.size(), all, from, to).value;
  if (in_fabric) out.disjoint_in_fabric = max_flow(ways.size(), fabric, from, to).value;
  return out;
}

}  // namespace plait
