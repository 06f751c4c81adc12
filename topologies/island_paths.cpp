// In a mesh of direct NVLinks that joins them all a member sends over all of its links at once, so
// its bandwidth is the sum of its links to other members. Elsewhere the members are a ring, in
// index order, and flows that cross the same link divide it: those of the ring, and those of the
// rings of groups like this one, which have the other devices of the island.
#include "topologies/island_paths.h"

#include <algorithm>
#include <utility>

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

/// `path` as a member has it in a mesh when it sends as much to each other one: over NVLinks, of
/// members that pass it on too, and over PCIe where these do not lead.
Path exchange_in_mesh(Path path, const IslandKind& kind, Places places) {
  IslandLoads loads(kind);
  const double part = 1 / static_cast<double>(places.size() - 1);
  for (const std::int64_t from : places) {
    for (const std::int64_t to : places) {
      if (from == to) continue;
      const std::int64_t by = relay_of(kind, from, to, places);
      if (by < 0) {
        loads.add(from, to, part);
      } else {
        loads.add(from, by, part), loads.add(by, to, part);
      }
    }
  }
  const Link narrowest = loads.narrowest();
  path.link = narrowest.link, path.bandwidth = narrowest.bandwidth;
  return path;
}

/// `path` as a member of the exchange among these places has it beside those in `loads`.
Path divided_by_all(Path path, const IslandLoads& loads, Places places) {
  for (const std::int64_t from : places) {
    for (const std::int64_t to : places) {
      if (from != to) loads.divide(from, to, path);
    }
  }
  return path;
}

/// `path` as a member of the ring of these places has it beside the rings in `loads`.
Path divided(Path path, const IslandLoads& loads, Places places) {
  for (std::size_t i = 0; i < places.size(); ++i)
    loads.divide(places[i], places[(i + 1) % places.size()], path);
  return path;
}

}  // namespace

std::vector<DirectLink> mesh_of(const IslandKind& kind, Places places) {
  if (places.size() < 2 || !meshed(kind.routes, places)) return {};
  std::vector<DirectLink> out;
  for (const std::int64_t from : places) {
    for (const std::int64_t to : places) {
      if (from == to || !joined_directly(kind.routes, from, to)) continue;
      out.push_back({from, to, BytesPerSecond(kind.routes.between(from, to).bandwidth)});
    }
  }
  return out;
}

std::int64_t relay_of(const IslandKind& kind, std::int64_t from, std::int64_t to, Places places) {
  const IslandRoutes& island = kind.routes;
  std::int64_t best = -1;
  if (!island.between(from, to).beyond_nvlink) return best;
  std::pair<double, double> widest;
  for (const std::int64_t by : places) {
    if (by == from || by == to) continue;
    if (!joined_directly(island, from, by) || !joined_directly(island, by, to)) continue;
    const double last = island.between(by, to).bandwidth;
    const std::pair both(std::min(island.between(from, by).bandwidth, last), last);
    if (best < 0 || both > widest) best = by, widest = both;
  }
  return best;
}

IslandPaths island_paths(const IslandKind& kind, Places places) {
  const IslandRoutes& island = kind.routes;
  Path worst = worst_route(island, places);
  const BytesPerSecond direct = least_direct_bandwidth(island, places);
  if (direct.value > 0 && meshed(island, places)) {
    worst.link = LinkClass::kNvlink;
    worst.bandwidth = direct;
    const Path exchange = exchange_in_mesh(worst, kind, places);
    return {worst, worst, exchange, exchange};
  }
  if (worst.link == LinkClass::kNvlink) return {worst, worst, worst, worst};
  const std::vector<std::int64_t> members(places.begin(), places.end());
  const auto groups = groups_like(places, std::ssize(kind.island.devices));
  IslandLoads ring(kind), rings(kind), exchange(kind), exchanges(kind);
  ring.add_ring(members), exchange.add_exchange(members);
  for (const auto& group : groups) rings.add_ring(group), exchanges.add_exchange(group);
  return {divided(worst, rings, places), divided(worst, ring, places),
          divided_by_all(worst, exchanges, places), divided_by_all(worst, exchange, places)};
}

}  // namespace plait
