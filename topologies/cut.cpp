#include "topologies/cut.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "topologies/max_flow.h"
#include "topologies/symmetry.h"

namespace plait {
namespace {

/// The devices [0, first) and all vertices of their nodes.
std::vector<bool> first_nodes(const Machine& machine, std::size_t first) {
  const LinkGraph& g = machine.links;
  std::vector<bool> seen(boost::num_vertices(g));
  std::vector<VertexId> open(machine.devices.begin(),
                             machine.devices.begin() + static_cast<std::ptrdiff_t>(first));
  for (const VertexId d : open) seen[d] = true;
  while (!open.empty()) {
    const VertexId v = open.back();
    open.pop_back();
    for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
      const VertexId to = boost::target(*e, g);
      if (seen[to] || is_fabric_switch(g[to].kind) || g[*e].link == LinkClass::kInfiniband ||
          g[*e].link == LinkClass::kEthernet) {
        continue;
      }
      seen[to] = true;
      open.push_back(to);
    }
  }
  return seen;
}

/// What the NICs of the first nodes can send into the fabric.
BytesPerSecond injection_of(const Machine& machine, std::size_t first) {
  const LinkGraph& g = machine.links;
  const std::vector<bool> ours = first_nodes(machine, first);
  BytesPerSecond sum;
  for (VertexId v = 0; v < boost::num_vertices(g); ++v) {
    if (!ours[v] || g[v].kind != VertexKind::kNic) continue;
    for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
      if (!ours[boost::target(*e, g)]) sum += g[*e].bandwidth;
    }
  }
  return sum;
}

/// Links between vertices of two colours, and their bandwidth in all.
using Bundles = std::map<std::tuple<std::size_t, std::size_t, LinkClass>, std::int64_t>;

Bundles bundles_of(const LinkGraph& g, const std::vector<std::uint32_t>& colours) {
  Bundles out;
  for (VertexId v = 0; v < boost::num_vertices(g); ++v) {
    for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
      out[{colours[v], colours[boost::target(*e, g)], g[*e].link}] +=
          static_cast<std::int64_t>(g[*e].bandwidth.value);
    }
  }
  return out;
}

/// The bundles, a source that feeds the colours of the first part and a sink behind those of the
/// rest; both bring and take more than the links of a
/// colour can carry, so that links limit the flow.
std::vector<Arc> arcs_of(const Bundles& bundles, const std::vector<int>& part_of,
                         std::size_t source, std::size_t sink) {
  std::vector<Arc> arcs;
  std::vector<std::int64_t> out_of(part_of.size()), into(part_of.size());
  for (const auto& [key, bandwidth] : bundles) {
    const auto [a, b, link] = key;
    arcs.push_back({a, b, bandwidth});
    out_of[a] += bandwidth;
    into[b] += bandwidth;
  }
  for (std::size_t c = 0; c < part_of.size(); ++c) {
    if (part_of[c] == 1) arcs.push_back({source, c, out_of[c] + 1});
    if (part_of[c] == 2) arcs.push_back({c, sink, into[c] + 1});
  }
  return arcs;
}

}  // namespace

double Cut::oversubscription() const { return bandwidth.value > 0 ? injection / bandwidth : 0; }

Cut cut_of(const Machine& machine, std::size_t first, std::string name) {
  const LinkGraph& g = machine.links;
  std::vector<std::uint32_t> parts(boost::num_vertices(g));  // 1, 2: of a device; else 0
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    parts[machine.devices[d]] = d < first ? 1 : 2;
  }
  const std::vector<std::uint32_t> colours = refine_colours(g, parts);
  const std::size_t count = 1 + *std::max_element(colours.begin(), colours.end());
  std::vector<int> part_of(count);
  for (VertexId v = 0; v < parts.size(); ++v) part_of[colours[v]] = static_cast<int>(parts[v]);
  const Bundles bundles = bundles_of(g, colours);
  const MaxFlow flow =
      max_flow(count + 2, arcs_of(bundles, part_of, count, count + 1), count, count + 1);
  Cut out{.name = std::move(name),
          .devices = static_cast<std::int64_t>(first),
          .bandwidth = BytesPerSecond(static_cast<double>(flow.value)),
          .injection = injection_of(machine, first)};
  for (const auto& [key, bandwidth] : bundles) {
    const auto [a, b, link] = key;
    if (!flow.source_side[a] || flow.source_side[b]) continue;
    out.by_class[static_cast<std::size_t>(link)] += BytesPerSecond(static_cast<double>(bandwidth));
  }
  return out;
}

}  // namespace plait
