// A node from the inside, top down: NVSwitches or the arcs of direct NVLinks, devices and NICs,
// PCIe switches, sockets. Parts that are alike (the trays of a rack) are drawn once, with their
// number.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "reports/human.h"
#include "reports/topology_drawing.h"

namespace plait {
namespace {

constexpr double kIslandRow = 76, kIslandPadding = 12, kIslandCaption = 18;
constexpr std::size_t kMostColumns = 24;  // devices and NICs drawn one by one

/// Where a vertex of a part is drawn.
struct Spot {
  double x = 0, y = 0, width = kBoxWidth;
  double middle() const { return x + width / 2; }
};
using Spots = std::map<VertexId, Spot>;

std::string caption(const Vertex& v) {
  switch (v.kind) {
    case VertexKind::kDevice: return fmt::format("GPU {}", v.index);
    case VertexKind::kNic: return fmt::format("NIC {}", v.index);
    case VertexKind::kPcieSwitch: return fmt::format("PCIe switch {}", v.index);
    case VertexKind::kHost: return fmt::format("host {}", v.index);
    default: return fmt::format("{} {}", name_of(v.kind), v.index);
  }
}

int row_of(VertexKind kind) {
  if (kind == VertexKind::kDevice || kind == VertexKind::kNic) return 0;
  return kind == VertexKind::kPcieSwitch || kind == VertexKind::kMemory ? 1 : 2;
}

/// The vertex one row further down that `v` hangs on; itself where there is none.
VertexId parent_of(const LinkGraph& g, VertexId v) {
  VertexId best = v;
  for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
    const VertexId to = boost::target(*e, g);
    if (g[*e].link == LinkClass::kNvlink || row_of(g[to].kind) <= row_of(g[v].kind)) continue;
    if (best == v || row_of(g[to].kind) < row_of(g[best].kind)) best = to;
  }
  return best;
}

/// Devices and NICs of the part, neighbours that hang on the same switch and socket together.
std::vector<VertexId> top_row(const LinkGraph& g, const std::vector<VertexId>& part) {
  std::vector<VertexId> out;
  for (const VertexId v : part) {
    if (row_of(g[v].kind) == 0) out.push_back(v);
  }
  const auto key = [&](VertexId v) {
    const VertexId parent = parent_of(g, v), root = parent_of(g, parent);
    return std::tuple(root, parent, g[v].kind, g[v].index);
  };
  std::sort(out.begin(), out.end(), [&](VertexId a, VertexId b) { return key(a) < key(b); });
  return out;
}

/// Lower rows stand in the middle of what hangs on them.
void place_lower_rows(const LinkGraph& g, const std::vector<VertexId>& part, double y,
                      Spots& spots) {
  int level = 0;  // rows that are empty take no room
  for (int row = 1; row <= 2; ++row) {
    if (std::none_of(part.begin(), part.end(),
                     [&](VertexId v) { return row_of(g[v].kind) == row; })) {
      continue;
    }
    ++level;
    double free = kLeft + kIslandPadding;
    for (const VertexId v : part) {
      if (row_of(g[v].kind) != row || g[v].way_down) continue;
      double low = 1e9, high = -1e9;
      for (const auto& [child, spot] : spots) {
        if (parent_of(g, child) != v) continue;
        low = std::min(low, spot.middle());
        high = std::max(high, spot.middle());
      }
      const double width = row == 1 ? 92 : 70;
      const double x = low > high ? free : std::max(free, (low + high) / 2 - width / 2);
      spots[v] = {x, y + level * kIslandRow, width};
      free = x + width + kGap;
    }
  }
}

/// Direct NVLinks between devices and links between sockets bulge; all else is straight.
void draw_links(Svg& svg, const LinkGraph& g, const Spots& spots) {
  for (const auto& [v, from] : spots) {
    for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
      const VertexId target = boost::target(*e, g);
      const auto at = spots.find(target);
      const bool drawn = target < v && boost::edge(target, v, g).second;
      if (at == spots.end() || drawn) continue;
      const Spot& to = at->second;
      const Pen pen = pen_of(g[*e].link, g[*e].bandwidth);
      const double span = std::abs(to.middle() - from.middle());
      if (row_of(g[v].kind) == 0 && row_of(g[target].kind) == 0) {
        svg.arc(from.middle(), to.middle(), from.y, 14 + span / 6, pen);
      } else if (g[v].kind == g[target].kind && std::abs(g[v].index - g[target].index) > 1) {
        svg.arc(from.middle(), to.middle(), from.y + kBoxHeight, -20, pen);
      } else if (from.y == to.y) {
        const bool right = to.x > from.x;
        svg.line(right ? from.x + from.width : from.x, from.y + kBoxHeight / 2,
                 right ? to.x : to.x + to.width, from.y + kBoxHeight / 2, pen);
      } else {
        const Spot &upper = from.y < to.y ? from : to, &lower = from.y < to.y ? to : from;
        svg.line(upper.middle(), upper.y + kBoxHeight, lower.middle(), lower.y, pen);
      }
    }
  }
}

/// Height of the highest arc between devices of the row.
double arcs_above(const LinkGraph& g, const std::vector<VertexId>& row) {
  double height = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    for (std::size_t j = i + 1; j < row.size(); ++j) {
      if (!boost::edge(row[i], row[j], g).second) continue;
      height = std::max(height, 14 + static_cast<double>(j - i) * (kBoxWidth + kGap) / 6);
    }
  }
  return height;
}

/// Only counts: "64 x device".
double draw_crowd(Svg& svg, const LinkGraph& g, const std::vector<VertexId>& part, double y) {
  std::map<VertexKind, std::int64_t> counts;
  for (const VertexId v : part) counts[g[v].kind] += g[v].way_down ? 0 : 1;
  double x = kLeft + kIslandPadding;
  for (const auto& [kind, count] : counts) {
    const std::string words = fmt::format("{} x {}", human_count(count), name_of(kind));
    const double width = Svg::width_of(words, 11) + 16;
    draw_vertex(svg, x, y, width, kind, words);
    x += width + kGap;
  }
  return y + kBoxHeight;
}

/// One part, every vertex of it; returns the y below.
double draw_part(Svg& svg, const LinkGraph& g, const std::vector<VertexId>& part, double y,
                 Spots& spots) {
  const std::vector<VertexId> row = top_row(g, part);
  if (row.size() > kMostColumns) return draw_crowd(svg, g, part, y);
  y += arcs_above(g, row);
  double x = kLeft + kIslandPadding;
  for (const VertexId v : row) {
    spots[v] = {x, y};
    x += kBoxWidth + kGap;
  }
  place_lower_rows(g, part, y, spots);
  draw_links(svg, g, spots);
  double bottom = y;
  for (const auto& [v, spot] : spots) {
    draw_vertex(svg, spot.x, spot.y, spot.width, g[v].kind, caption(g[v]));
    bottom = std::max(bottom, spot.y + kBoxHeight);
  }
  return bottom;
}

/// The NVSwitch plane over everything, with a line to each device that is drawn.
void draw_switches(Svg& svg, const LinkGraph& g, const Spots& spots, double y) {
  double right = kLeft + kIslandPadding + 120;
  for (const auto& [v, spot] : spots) right = std::max(right, spot.x + spot.width);
  for (VertexId v = 0; v < boost::num_vertices(g); ++v) {
    if (g[v].kind != VertexKind::kNvSwitch) continue;
    for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
      const auto at = spots.find(boost::target(*e, g));
      if (at == spots.end()) continue;
      svg.line(at->second.middle(), y + kBoxHeight, at->second.middle(), at->second.y,
               pen_of(g[*e].link, g[*e].bandwidth));
    }
    draw_vertex(svg, kLeft + kIslandPadding, y, right - kLeft - kIslandPadding,
                VertexKind::kNvSwitch, "NVSwitch");
    return;
  }
}

}  // namespace

double draw_island(Svg& svg, const Island& island, double y) {
  const LinkGraph& g = island.links;
  bool switched = false;
  for (VertexId v = 0; v < boost::num_vertices(g); ++v) {
    switched |= g[v].kind == VertexKind::kNvSwitch;
  }
  const double top = y;
  if (switched) y += kBoxHeight + 30;
  Spots all;
  const AlikeParts parts = parts_without(g, {VertexKind::kNvSwitch}, true);
  for (std::size_t p = 0; p < parts.alike.size(); ++p) {
    Spots spots;
    const bool framed = parts.counts[p] > 1;
    const double begin = y;
    if (framed) y += kIslandPadding;
    y = draw_part(svg, g, parts.alike[p], y, spots) + kIslandPadding;
    if (framed) {
      double right = kLeft + 120;
      for (const auto& [v, spot] : spots) right = std::max(right, spot.x + spot.width);
      svg.text(kLeft + kIslandPadding, y + kIslandCaption - 4,
               fmt::format("x {}", human_count(parts.counts[p])), Svg::Anchor::kStart, 13, true);
      y += kIslandCaption;
      svg.dashed_box(kLeft, begin, right + kIslandPadding - kLeft, y - begin);
      y += kGap;
    }
    all.merge(spots);
  }
  if (switched) draw_switches(svg, g, all, top);
  return y + kGap;
}

}  // namespace plait
