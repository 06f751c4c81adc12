// The fabric, top down: core, spine and leaf switches, or routers; nodes. Pods that are alike are
// drawn once; in a small pod every leaf and node is drawn, in a large one their numbers.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/units.h"
#include "reports/human.h"
#include "reports/topology_drawing.h"

namespace plait {
namespace {

constexpr double kFabricRow = 80, kFabricPadding = 12, kFabricCaption = 18, kPodWidth = 300;
constexpr std::size_t kMostLeafs = 8, kMostNodes = 4;

struct Pod {
  std::vector<VertexId> leafs;
  std::vector<std::vector<VertexId>> nodes;
  std::map<VertexId, std::size_t> node_of;
};

Pod pod_of(const LinkGraph& g, const std::vector<VertexId>& part) {
  Pod pod;
  for (const VertexId v : part) {
    if (is_fabric_switch(g[v].kind)) pod.leafs.push_back(v);
  }
  for (const VertexId start : part) {
    if (is_fabric_switch(g[start].kind) || pod.node_of.contains(start)) continue;
    std::vector<VertexId> node = {start};
    pod.node_of[start] = pod.nodes.size();
    for (std::size_t i = 0; i < node.size(); ++i) {
      for (auto [e, end] = boost::out_edges(node[i], g); e != end; ++e) {
        const VertexId to = boost::target(*e, g);
        if (is_fabric_switch(g[to].kind) || pod.node_of.contains(to)) continue;
        pod.node_of[to] = pod.nodes.size();
        node.push_back(to);
      }
    }
    pod.nodes.push_back(std::move(node));
  }
  return pod;
}

/// Cables from some switches to vertices that `there` accepts.
struct Cables {
  std::int64_t count = 0;
  Link one;
  std::string text() const {
    return fmt::format("{} x {} {}", human_count(count), to_text(one.bandwidth), name_of(one.link));
  }
};
template <class There>
Cables cables_of(const LinkGraph& g, const std::vector<VertexId>& switches, There there) {
  Cables out;
  for (const VertexId leaf : switches) {
    for (auto [e, end] = boost::out_edges(leaf, g); e != end; ++e) {
      if (!there(boost::target(*e, g))) continue;
      ++out.count;
      out.one = g[*e];
    }
  }
  return out;
}

/// A line between two boxes with words beside it.
void draw_bundle(Svg& svg, double x, double y1, double y2, const Cables& cables) {
  svg.line(x, y1, x, y2, pen_of(cables.one.link, cables.one.bandwidth));
  svg.text(x + 10, (y1 + y2) / 2 + 4, cables.text());
}

void draw_large_pod(Svg& svg, const LinkGraph& g, const Pod& pod, double x, double y) {
  const auto width = kPodWidth - 2 * kFabricPadding;
  const Cables down = cables_of(g, pod.leafs, [&](VertexId v) { return pod.node_of.contains(v); });
  draw_bundle(svg, x + 60, y + kBoxHeight, y + kFabricRow, down);
  draw_vertex(svg, x, y, width, VertexKind::kLeaf,
              fmt::format("{} {} switches", human_count(std::ssize(pod.leafs)),
                          name_of(g[pod.leafs[0]].kind)));
  draw_vertex(svg, x, y + kFabricRow, width, VertexKind::kDevice,
              fmt::format("{} nodes", human_count(std::ssize(pod.nodes))));
}

/// Returns the width. A line up from each leaf stands for its cables.
double draw_small_pod(Svg& svg, const LinkGraph& g, const Pod& pod, double x, double y,
                      const Cables& up) {
  const double leaf_width = 62, step = leaf_width + kGap;
  const double width =
      std::max(kPodWidth - 2 * kFabricPadding, static_cast<double>(pod.leafs.size()) * step - kGap);
  const double node_step = (width + kGap) / static_cast<double>(pod.nodes.size());
  const auto leaf_x = [&](std::size_t i) {
    return x + (width + kGap) / static_cast<double>(pod.leafs.size()) * static_cast<double>(i);
  };
  for (std::size_t i = 0; i < pod.leafs.size() && up.count > 0; ++i) {
    const double middle = leaf_x(i) + leaf_width / 2;
    svg.line(middle, y - kFabricPadding - kFabricRow + kBoxHeight, middle, y,
             pen_of(up.one.link, up.one.bandwidth));
  }
  for (std::size_t i = 0; i < pod.leafs.size(); ++i) {
    for (auto [e, end] = boost::out_edges(pod.leafs[i], g); e != end; ++e) {
      const auto node = pod.node_of.find(boost::target(*e, g));
      if (node == pod.node_of.end()) continue;
      const double to = x + node_step * (static_cast<double>(node->second) + 0.5) - kGap / 2;
      svg.line(leaf_x(i) + leaf_width / 2, y + kBoxHeight, to, y + kFabricRow,
               pen_of(g[*e].link, g[*e].bandwidth));
    }
  }
  for (std::size_t i = 0; i < pod.leafs.size(); ++i) {
    draw_vertex(svg, leaf_x(i), y, leaf_width, VertexKind::kLeaf,
                fmt::format("{} {}", name_of(g[pod.leafs[i]].kind), g[pod.leafs[i]].index));
  }
  for (std::size_t k = 0; k < pod.nodes.size(); ++k) {
    draw_vertex(svg, x + node_step * static_cast<double>(k), y + kFabricRow, node_step - kGap,
                VertexKind::kDevice, fmt::format("node {}", k));
  }
  return width;
}

/// `count` pods like this one, in a frame with words; returns its width.
double draw_pod(Svg& svg, const LinkGraph& g, const Pod& pod, std::int64_t count, double x,
                double y) {
  const Cables up =
      cables_of(g, pod.leafs, [&](VertexId v) { return g[v].kind == VertexKind::kSpine; });
  Cables between =
      cables_of(g, pod.leafs, [&](VertexId v) { return g[v].kind == g[pod.leafs[0]].kind; });
  between.count /= 2;  // seen from both ends
  const bool small = pod.leafs.size() <= kMostLeafs && pod.nodes.size() <= kMostNodes;
  std::string words =
      fmt::format("{} {}", human_count(count), count == 1 ? "pod" : "pods, each like this");
  if (small && up.count > 0) words += fmt::format("; up: {}", up.text());
  if (between.count > 0) words += fmt::format("; between switches: {}", between.text());
  double width = std::max(kPodWidth - 2 * kFabricPadding, Svg::width_of(words, 13));
  if (small) {
    width =
        std::max(width, draw_small_pod(svg, g, pod, x + kFabricPadding, y + kFabricPadding, up));
  } else {
    if (up.count > 0) {
      draw_bundle(svg, x + kFabricPadding + 60, y - kFabricRow + kBoxHeight, y + kFabricPadding,
                  up);
    }
    draw_large_pod(svg, g, pod, x + kFabricPadding, y + kFabricPadding);
  }
  const double below = y + kFabricPadding + kFabricRow + kBoxHeight;
  svg.text(x + kFabricPadding, below + kFabricCaption, words, Svg::Anchor::kStart, 13, true);
  svg.dashed_box(x, y, width + 2 * kFabricPadding, below + kFabricCaption + kFabricPadding - y);
  return width + 2 * kFabricPadding;
}

}  // namespace

double draw_fabric(Svg& svg, const Machine& machine, double y) {
  const LinkGraph& g = machine.links;
  std::vector<VertexId> spines, cores;
  for (VertexId v = 0; v < boost::num_vertices(g); ++v) {
    if (g[v].kind == VertexKind::kSpine) spines.push_back(v);
    if (g[v].kind == VertexKind::kCore) cores.push_back(v);
  }
  const AlikeParts pods = parts_without(g, {VertexKind::kSpine, VertexKind::kCore}, false);
  if (!cores.empty()) {
    const Cables up =
        cables_of(g, spines, [&](VertexId v) { return g[v].kind == VertexKind::kCore; });
    draw_bundle(svg, kLeft + kFabricPadding + 60, y + kBoxHeight, y + kFabricRow, up);
    draw_vertex(svg, kLeft, y, kPodWidth, VertexKind::kCore,
                fmt::format("{} core switches", human_count(std::ssize(cores))));
    y += kFabricRow;
  }
  const double top = y;
  if (!spines.empty()) y += kFabricRow;
  double x = kLeft;
  for (std::size_t p = 0; p < pods.alike.size(); ++p) {
    const Pod pod = pod_of(g, pods.alike[p]);
    if (pod.leafs.empty()) continue;  // a part that lost its cables
    x += draw_pod(svg, g, pod, pods.counts[p], x, y) + kGap;
  }
  if (!spines.empty()) {
    draw_vertex(svg, kLeft, top, x - kGap - kLeft, VertexKind::kSpine,
                fmt::format("{} spine switches", human_count(std::ssize(spines))));
  }
  return y + 2 * kFabricPadding + kFabricRow + kBoxHeight + kFabricCaption + 2 * kGap;
}

}  // namespace plait
