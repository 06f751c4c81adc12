#pragma once
// What members of a group that are in one island have of it.

#include <cstdint>
#include <span>

#include "topologies/graph.h"

namespace plait {

/// Members of one island by their places in it, ascending.
using Places = std::span<const std::int64_t>;

/// The worst path between two of several members: when every device of the island is in a group
/// like this one, and when this group is alone.
struct IslandPaths {
  Path all, alone;
};
IslandPaths island_paths(const IslandKind& kind, Places places);

}  // namespace plait
