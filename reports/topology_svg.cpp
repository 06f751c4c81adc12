#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/units.h"
#include "reports/human.h"
#include "reports/topology.h"
#include "reports/topology_drawing.h"

namespace plait {
namespace {

constexpr double kRow = 20;

double draw_heading(Svg& svg, double y, std::string_view words) {
  svg.text(kLeft, y + 14, words, Svg::Anchor::kStart, 14, true);
  return y + 30;
}

/// "0 to 2, 5"; "": none.
std::string runs_in_words(const std::vector<std::int64_t>& ascending) {
  std::vector<std::string> runs;
  for (std::size_t i = 0, last = 0; i < ascending.size(); i = last + 1) {
    for (last = i; last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1;)
      ++last;
    runs.push_back(last < i + 2 ? fmt::format("{}", ascending[i])
                                : fmt::format("{} to {}", ascending[i], ascending[last]));
    if (last == i + 1) runs.push_back(fmt::format("{}", ascending[last]));
  }
  return fmt::format("{}", fmt::join(runs, ", "));
}

/// "Each of 4 nodes"; where they differ or something failed "Nodes 0 to 2, 5: 8 x h100-sxm each".
std::string island_heading(const Cluster& cluster, std::size_t kind) {
  const Graph& graph = *cluster.graph;
  if (graph.nodes == 1) return "The node";
  if (graph.kinds.size() == 1) return fmt::format("Each of {} nodes", human_count(graph.nodes));
  std::vector<std::int64_t> nodes;
  for (std::int64_t n = 0; n < graph.nodes; ++n) {
    const auto named = graph.kind_of_node.find(n);
    if ((named == graph.kind_of_node.end() ? 0 : named->second) == kind) nodes.push_back(n);
  }
  if (nodes.empty()) return "No node";
  const std::string& device =
      cluster.kind(cluster.kind_of(nodes.front() * graph.size())).device.name;
  constexpr std::size_t kLong = 60;  // of a heading, where faults are many
  std::string which = (nodes.size() == 1 ? "Node " : "Nodes ") + runs_in_words(nodes);
  if (which.size() > kLong) which = human_plural(std::ssize(nodes), "node");
  return fmt::format("{}: {} x {}{}", which, graph.size(), device,
                     nodes.size() == 1 ? "" : " each");
}

/// What lines mean: class, ends, bandwidth of one per direction, how many in the whole machine.
void draw_legend(Svg& svg, const TopologySummary& s, double y) {
  y = draw_heading(svg, y, "Links of the whole machine, bandwidth per direction");
  for (const LinkCount& l : s.links) {
    svg.line(kLeft, y + 8, kLeft + 40, y + 8, pen_of(l.link, l.bandwidth));
    svg.text(kLeft + 52, y + 12,
             fmt::format("{}, {} to {}", name_of(l.link), name_of(l.from), name_of(l.to)));
    svg.text(kLeft + 290, y + 12,
             fmt::format("{} x {} = {}", human_count(l.count), to_text(l.bandwidth),
                         to_text(l.total())));
    y += kRow;
  }
}

}  // namespace

Pen pen_of(LinkClass link, BytesPerSecond bandwidth) {
  static const std::map<LinkClass, std::string_view> colors = {
      {LinkClass::kNvlink, "#009E73"},     {LinkClass::kPcie, "#777777"},
      {LinkClass::kInfiniband, "#0072B2"}, {LinkClass::kEthernet, "#E69F00"},
      {LinkClass::kC2c, "#CC79A7"},        {LinkClass::kDeviceMemory, "#D55E00"}};
  // A pixel more for each doubling above 12.5 GB/s, a port of 100 Gbit/s.
  const double doublings = std::log2(std::max(1.0, bandwidth.value / 12.5e9));
  return {colors.at(link), 1 + std::min(4.5, 0.75 * doublings), name_of(link)};
}

std::string_view fill_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::kDevice: return "#D7F0E6";
    case VertexKind::kNvSwitch: return "#A6DCC8";
    case VertexKind::kPcieSwitch: return "#E4E4E4";
    case VertexKind::kHost: return "#F6E3C5";
    case VertexKind::kNic: return "#D3E6F3";
    case VertexKind::kMemory: return "#F7D3B8";
    case VertexKind::kLeaf:
    case VertexKind::kRouter: return "#D3E6F3";
    case VertexKind::kSpine: return "#B4D3EA";
    case VertexKind::kCore: return "#93BFE0";
  }
  return "#ffffff";
}

void draw_vertex(Svg& svg, double x, double y, double width, VertexKind kind,
                 std::string_view words) {
  svg.box(x, y, width, kBoxHeight, fill_of(kind));
  svg.text(x + width / 2, y + kBoxHeight / 2 + 4, words, Svg::Anchor::kMiddle, 11);
}

AlikeParts parts_without(const LinkGraph& graph, std::vector<VertexKind> removed,
                         bool nvlinks_too) {
  const auto gone = [&](VertexId v) {
    return std::find(removed.begin(), removed.end(), graph[v].kind) != removed.end();
  };
  AlikeParts out;
  std::map<std::vector<std::tuple<VertexKind, std::size_t>>, std::size_t> known;
  std::vector<bool> seen(boost::num_vertices(graph));
  for (VertexId start = 0; start < seen.size(); ++start) {
    if (seen[start] || gone(start)) continue;
    std::vector<VertexId> part = {start};
    std::vector<std::tuple<VertexKind, std::size_t>> look;
    seen[start] = true;
    for (std::size_t i = 0; i < part.size(); ++i) {
      look.emplace_back(graph[part[i]].kind, boost::out_degree(part[i], graph));
      for (auto [e, end] = boost::out_edges(part[i], graph); e != end; ++e) {
        const VertexId to = boost::target(*e, graph);
        if (seen[to] || gone(to)) continue;
        if (nvlinks_too && graph[*e].link == LinkClass::kNvlink) continue;
        seen[to] = true;
        part.push_back(to);
      }
    }
    std::sort(part.begin(), part.end());
    std::sort(look.begin(), look.end());
    const auto [at, is_new] = known.emplace(std::move(look), out.alike.size());
    if (is_new) out.alike.push_back(std::move(part)), out.counts.push_back(0);
    ++out.counts[at->second];
  }
  return out;
}

std::string topology_svg(const Cluster& cluster, const TopologySummary& s) {
  Svg svg;
  svg.text(kLeft, 30, s.name, Svg::Anchor::kStart, 18, true);
  svg.text(kLeft, 50, fmt::format("{} in {}", devices_in_words(s), human_plural(s.nodes, "node")));
  double y = 70;
  if (s.nodes > 1) {
    y = draw_heading(svg, y, "Fabric");
    y = draw_fabric(svg, expand(*cluster.graph), y);
  }
  for (std::size_t k = 0; k < cluster.graph->kinds.size(); ++k) {
    y = draw_heading(svg, y, island_heading(cluster, k));
    y = draw_island(svg, cluster.graph->kinds[k].island, y);
  }
  draw_legend(svg, s, y);
  return svg.page(s.name);
}

}  // namespace plait
