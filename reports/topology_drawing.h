#pragma once
// The pieces of a machine's picture.

#include <string>
#include <string_view>
#include <vector>

#include "reports/svg.h"
#include "topologies/graph.h"

namespace plait {

inline constexpr double kLeft = 20, kGap = 10, kBoxHeight = 26, kBoxWidth = 56;

/// Colour by class (Okabe and Ito 2008: told apart by colour-blind eyes), width by bandwidth.
Pen pen_of(LinkClass link, BytesPerSecond bandwidth);
std::string_view fill_of(VertexKind kind);
/// A box with a word in its middle.
void draw_vertex(Svg& svg, double x, double y, double width, VertexKind kind,
                 std::string_view words);

/// The parts that a graph falls into without the vertices of `removed` kinds and, where they are
/// removed, without NVLinks.
struct AlikeParts {
  std::vector<std::vector<VertexId>> alike;  // one of each kind of part
  std::vector<std::int64_t> counts;          // how many of that kind
};
AlikeParts parts_without(const LinkGraph& graph, std::vector<VertexKind> removed, bool nvlinks_too);

/// Draw at y; return the y below.
double draw_island(Svg& svg, const Island& island, double y);
double draw_fabric(Svg& svg, const Machine& machine, double y);

}  // namespace plait
