#pragma once
// How many ways are equally short: the links on any route of least latency (and as few hops as
// the one taken) from one device to another form a graph without circles. Its paths are the ways
// among which a fabric can choose (ECMP); its maximum flow with one unit per link is how many of
// them share no link.

#include <cstdint>

#include "topologies/graph.h"

namespace plait {

struct ShortestWays {
  int hops = 0;  // of the route that is taken, as Path::hops
  Seconds latency;
  std::int64_t ways = 0;
  std::int64_t disjoint = 0;            // ways that share no link
  std::int64_t disjoint_in_fabric = 0;  // that share no link between two switches of the fabric;
                                        // 0: the ways have no such link
};

/// As routes_from: over NVLink where that leads there. All zero when `to` cannot be reached.
ShortestWays shortest_ways(const LinkGraph& graph, VertexId from, VertexId to);

}  // namespace plait
