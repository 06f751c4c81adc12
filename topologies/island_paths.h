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

/// The member that passes on what `from` sends to `to` where no NVLink joins these two and NVLinks
/// join both to it; -1: they have one, or nobody does. NCCL 2.30, src/graph/paths.cc: paths of two
/// NVLinks by way of another GPU of the communicator are taken before PCIe, of these the one whose
/// narrower link is widest, then the one with the wider link to the receiver, whose links are tried
/// from the widest on.
std::int64_t relay_of(const IslandKind& kind, std::int64_t from, std::int64_t to, Places places);

}  // namespace plait
