// In a mesh of direct NVLinks that joins them all a member sends over all of its links at once, so
// its bandwidth is the sum of its links to other members. Elsewhere the members are a ring, in
// index order, and flows that cross the same link divide it: those of the ring, and those of the
// rings of groups like this one, which have the other devices of the island.
#include "topologies/island_paths.h"

#include <algorithm>

#include "topologies/island_loads.h"
#include "topologies/paths.h"

namespace plait {
namespace {

bool joined_directly(const IslandRoutes& island, std::int64_t a, std::int64_t b) {
  const Distance& way = island.between(a, b);
  return way.hops == 1 && way.link == LinkClass::kNvlink;
}

/// Over the direct NVLinks from `from` to other members; zero in a switched island.
BytesPerSecond direct_bandwidth(const IslandRoutes& island, std::int64_t from, Places places) {
  BytesPerSecond sum;
  for (const std::int64_t to : places) {
    if (joined_directly(island, from, to))
      sum += BytesPerSecond(island.between(from, to).bandwidth);
  }
  return sum;
}

/// Whether direct NVLinks lead from each member to all others, by way of members. Pairs of cards on
/// bridges do not.
bool meshed(const IslandRoutes& island, Places places) {
  std::vector<std::int64_t> reached = {places[0]}, rest(places.begin() + 1, places.end());
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto beyond = std::stable_partition(rest.begin(), rest.end(), [&](std::int64_t to) {
      return !joined_directly(island, reached[i], to);
    });
    reached.insert(reached.end(), beyond, rest.end());
    rest.erase(beyond, rest.end());
  }
  return rest.empty();
}

/// The worst route between any two.
Path worst_route(const IslandRoutes& island, Places places) {
  Path worst;
  for (const std::int64_t from : places) {
    for (const std::int64_t to : places) {
      if (from != to) worsen(worst, island.between(from, to).path());
    }
  }
  return worst;
}

BytesPerSecond least_direct_bandwidth(const IslandRoutes& island, Places places) {
  BytesPerSecond least = direct_bandwidth(island, places[0], places);
  for (const std::int64_t from : places)
    least = std::min(least, direct_bandwidth(island, from, places));
  return least;
}

/// The group and others of its shape, one behind the other, as many as the island has room for.
std::vector<std::vector<std::int64_t>> groups_like(Places places, std::int64_t size) {
  std::vector<std::vector<std::int64_t>> out;
  std::vector<bool> taken(static_cast<std::size_t>(size));
  const auto take = [&](std::int64_t shift) {
    std::vector<std::int64_t> group;
    for (const std::int64_t p : places) {
      const std::int64_t at = p + shift;
      if (at >= size || taken[static_cast<std::size_t>(at)]) return;
      group.push_back(at);
    }
    for (const std::int64_t p : group) taken[static_cast<std::size_t>(p)] = true;
    out.push_back(std::move(group));
  };
  take(0);
  for (std::int64_t first = 0; first < size; ++first) take(first - places[0]);
  return out;
}

/// `path` as a member of the ring of these places has it beside the rings in `loads`.
Path divided(Path path, const IslandLoads& loads, Places places) {
  for (std::size_t i = 0; i < places.size(); ++i)
    loads.divide(places[i], places[(i + 1) % places.size()], path);
  return path;
}

}  // namespace

IslandPaths island_paths(const IslandKind& kind, Places places) {
  const IslandRoutes& island = kind.routes;
  Path worst = worst_route(island, places);
  const BytesPerSecond direct = least_direct_bandwidth(island, places);
  if (direct.value > 0 && meshed(island, places)) {
    worst.link = LinkClass::kNvlink;
    worst.bandwidth = direct;
  }
  if (worst.link == LinkClass::kNvlink) return {worst, worst};
  IslandLoads own(kind), all(kind);
  own.add_ring({places.begin(), places.end()});
  for (const auto& group : groups_like(places, std::ssize(kind.island.devices)))
    all.add_ring(group);
  return {divided(worst, all, places), divided(worst, own, places)};
}

}  // namespace plait
