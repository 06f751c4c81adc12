#pragma once
// What members of a group that are in one island have of it.

#include <cstdint>
#include <span>
#include <vector>

#include "topologies/graph.h"

namespace plait {

/// Members of one island by their places in it, ascending.
using Places = std::span<const std::int64_t>;

/// The worst path between two of several members, in a ring and where each sends to all others
/// alike: when every device of the island is in a group like this one, and when this group is
/// alone.
struct IslandPaths {
  Path all, alone;
  Path exchange, exchange_alone;
};
IslandPaths island_paths(const IslandKind& kind, Places places);

struct DirectLink {
  std::int64_t from = 0, to = 0;  // places
  BytesPerSecond bandwidth;
};
/// The NVLinks between members where these lead from each to all others without a switch, in both
/// directions; none elsewhere.
std::vector<DirectLink> mesh_of(const IslandKind& kind, Places places);

}  // namespace plait
