#pragma once
// Vertices of a machine that nothing tells apart. Given a colour for each vertex, colour refinement
// splits colours until all vertices of one colour have, for each colour and kind of link, equally
// many links to and from vertices of that colour. Maximum flow between sets of whole colours is the
// same on the graph of colours, with the bandwidths between two colours added up, as on the
// machine: averaging a flow over each colour keeps it a flow of the same value (Grohe, Kersting,
// Mladenov and Selman, "Dimension reduction via colour refinement", ESA 2014).

#include <cstdint>
#include <vector>

#include "topologies/graph.h"

namespace plait {

/// The refined colours, numbered without gaps; vertices of different `colours` or kinds stay apart.
std::vector<std::uint32_t> refine_colours(const LinkGraph& graph,
                                          const std::vector<std::uint32_t>& colours);

}  // namespace plait
