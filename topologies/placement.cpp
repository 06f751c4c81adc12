// Given a set of devices, spread over islands k = 0 .. K-1 in index order, with the members of each
// island in index order:
//
//   intra  what the members of one island have of it (island_paths.cpp), the worst of all islands;
//          intra_exchange when each sends to all others alike.
//   inter  the worst route from member j of island k to member j of island k + 1 (a ring over the
//          islands), as one member's share when every device of the machine is in a group like this
//          one: a NIC is divided by the devices that it serves, so are the links to it where these
//          go through the host, and what lies beyond is shared as the fabric says
//          (Cabling::shares).
//   exchange  the same route, as one member's share when it sends to all other islands alike.
//   intra_alone and the like  the same when only this group communicates.
#include "topologies/placement.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>

#include "core/error.h"
#include "topologies/graph.h"
#include "topologies/island_loads.h"
#include "topologies/island_paths.h"
#include "topologies/paths.h"

namespace plait {
namespace {

struct Members {
  std::int64_t island = 0;
  Places places;
};

/// The group island by island; `places` is the storage that the islands' places lie in.
std::vector<Members> by_island(std::span<const std::int64_t> devices, std::int64_t per_island,
                               std::vector<std::int64_t>& places) {
  places.assign(devices.begin(), devices.end());
  if (!std::ranges::is_sorted(places)) std::ranges::sort(places);
  std::vector<Members> islands;
  islands.reserve(places.size());
  for (std::size_t i = 0; i < places.size();) {
    const std::int64_t island = places[i] / per_island, first = island * per_island;
    const std::size_t begin = i;
    for (; i < places.size() && places[i] < first + per_island; ++i) places[i] -= first;
    islands.push_back({island, {&places[begin], i - begin}});
  }
  return islands;
}

std::int64_t pods_of(const std::vector<Members>& islands, std::int64_t nodes_per_pod) {
  std::int64_t pods = 1;
  for (std::size_t k = 1; k < islands.size(); ++k) {
    pods += islands[k].island / nodes_per_pod != islands[k - 1].island / nodes_per_pod ? 1 : 0;
  }
  return pods;
}

/// Collectives wait for the member of the oldest generation; of one generation, for the slowest to
/// launch.
bool weaker(const NodeKind& a, const NodeKind& b) {
  return std::tie(a.device.compute_capability, b.device.launch_overhead) <
         std::tie(b.device.compute_capability, a.device.launch_overhead);
}

/// The kind of the group's weakest nodes, and whether the switches of all of them reduce.
void find_weakest(const Cluster& cluster, const std::vector<Members>& islands,
                  GroupPlacement& out) {
  out.kind = cluster.kind_of(islands[0].island * cluster.devices_per_node);
  bool all_reduce = cluster.kind(out.kind).nvswitch_generation >= 3;
  if (!cluster.others.empty()) {
    for (const Members& m : islands) {
      const std::size_t kind = cluster.kind_of(m.island * cluster.devices_per_node);
      if (weaker(cluster.kind(kind), cluster.kind(out.kind))) out.kind = kind;
      all_reduce = all_reduce && cluster.kind(kind).nvswitch_generation >= 3;
    }
  }
  out.in_switch_reduction = out.ranks > 1 && all_reduce;
}

/// Members at these places that share a NIC with another, and a rail: how many at most.
struct Sharing {
  std::int64_t nic = 1, rail = 1;
};

Sharing sharing(const IslandRoutes& island, Places places) {
  if (places.size() == 1) return {};
  std::vector<std::int64_t> nics, rails;
  for (const std::int64_t p : places) {
    nics.push_back(island.nic_of(p));
    rails.push_back(island.rail_of(p));
  }
  const auto most = [](std::vector<std::int64_t>& values) {
    std::sort(values.begin(), values.end());
    std::int64_t best = 1, run = 1;
    for (std::size_t i = 1; i < values.size(); ++i) {
      run = values[i] == values[i - 1] ? run + 1 : 1;
      best = std::max(best, run);
    }
    return best;
  };
  return {most(nics), most(rails)};
}

constexpr BytesPerSecond kUnbounded(std::numeric_limits<double>::infinity());

/// The worst route along the ring, and how many share the NICs.
struct RingRoute {
  Path worst;
  std::int64_t all_on_nic = 1;       // devices that a NIC of a member serves
  Sharing own;                       // members
  double port_factor = 1;            // what is left of the worst NIC
  double fabric_factor = 1;          // and of the worst trunk beyond
  BytesPerSecond slot = kUnbounded;  // of the NICs' PCIe links the narrowest
  /// Of the ways to the NICs when all devices of a node send, and when the members do.
  BytesPerSecond through_host = kUnbounded, own_through_host = kUnbounded;
};

/// What is left of the NICs and trunks between two devices.
void damage(const Graph& g, std::int64_t from, std::int64_t to, RingRoute& ring) {
  const Gates gates = g.gates(from, to);
  std::vector<Hop> hops;
  g.way(g.port(from / g.size(), gates.exit), g.port(to / g.size(), gates.entry), 0, hops);
  for (const Hop hop : hops) {
    double& worst = hop / 2 < g.cabling->ports() ? ring.port_factor : ring.fabric_factor;
    worst = std::min(worst, g.factor_of_trunk(hop));
  }
}

RingRoute ring_route(const Cluster& cluster, const std::vector<Members>& islands) {
  const Graph& g = *cluster.graph;
  std::vector<std::int64_t> all_places(static_cast<std::size_t>(g.size()));
  std::iota(all_places.begin(), all_places.end(), 0);
  RingRoute out;
  const Members* last_here = nullptr;
  const Members* last_next = nullptr;
  std::int64_t last_closeness = 0;
  for (std::size_t k = 0; k < islands.size(); ++k) {
    const Members& here = islands[k];
    const Members& next = islands[(k + 1) % islands.size()];
    const std::int64_t closeness = g.cabling->closeness(here.island, next.island);
    // Between the same places, equally close, the routes are the same.
    if (last_here != nullptr && !g.uneven() && std::ranges::equal(here.places, last_here->places) &&
        std::ranges::equal(next.places, last_next->places) && closeness == last_closeness) {
      continue;
    }
    last_here = &here, last_next = &next, last_closeness = closeness;
    const Sharing own = sharing(g.kind(here.island).routes, here.places);
    const std::vector<BytesPerSecond>& slots = g.kind(here.island).slot_of_nic;
    out.own = {std::max(out.own.nic, own.nic), std::max(out.own.rail, own.rail)};
    out.own_through_host =
        std::min(out.own_through_host, share_through_host(g.kind(here.island), here.places));
    out.through_host =
        std::min(out.through_host, share_through_host(g.kind(here.island), all_places));
    for (std::size_t j = 0; j < here.places.size(); ++j) {
      const std::int64_t to = next.places[j % next.places.size()];
      const std::int64_t first = here.island * g.size() + here.places[j];
      const std::int64_t second = next.island * g.size() + to;
      worsen(out.worst, route(cluster, first, second));
      if (g.uneven()) damage(g, first, second, out);
      const std::int64_t serves =
          g.kind(here.island).devices_per_nic[static_cast<std::size_t>(here.places[j])];
      out.all_on_nic = std::max(out.all_on_nic, serves);
      out.slot = std::min(out.slot, slots[static_cast<std::size_t>(here.places[j])]);
    }
  }
  return out;
}

/// Fills the paths between the islands of the group.
void place_between(const Cluster& cluster, const std::vector<Members>& islands,
                   GroupPlacement& out) {
  const Graph& g = *cluster.graph;
  const RingRoute ring = ring_route(cluster, islands);
  std::vector<std::int64_t> nodes;
  nodes.reserve(islands.size());
  for (const Members& m : islands) nodes.push_back(m.island);
  const Senders senders = {.nodes = nodes,
                           .own = out.ranks_per_node,
                           .own_per_rail = ring.own.rail,
                           .all = cluster.devices_per_node};
  const auto share = [&](std::int64_t on_nic, BytesPerSecond of_host, BytesPerSecond of_fabric) {
    Path path = ring.worst;
    const BytesPerSecond nic = g.fabric.bandwidth * ring.port_factor;
    narrow(path, g.fabric.link, nic / static_cast<double>(on_nic));
    narrow(path, LinkClass::kPcie, ring.slot / static_cast<double>(on_nic));
    narrow(path, LinkClass::kPcie, of_host);
    narrow(path, g.fabric.link, of_fabric * ring.fabric_factor);
    return path;
  };
  const auto place = [&](Towards towards, Path& all, Path& alone) {
    const Shares shares = g.cabling->shares(senders, towards);
    all = share(ring.all_on_nic, ring.through_host, shares.all);
    alone = share(ring.own.nic, ring.own_through_host, shares.alone);
  };
  place(Towards::kNext, out.inter, out.inter_alone);
  place(Towards::kAll, out.exchange, out.exchange_alone);
}

}  // namespace

GroupPlacement place_group(const Cluster& cluster, std::span<const std::int64_t> devices) {
  PLAIT_CHECK(!devices.empty(), "a group has at least one member");
  const auto [low, high] = std::minmax_element(devices.begin(), devices.end());
  PLAIT_CHECK(*low >= 0 && *high < cluster.world_size(), "device index outside of the cluster");
  std::vector<std::int64_t> places;
  const std::vector<Members> islands = by_island(devices, cluster.devices_per_node, places);
  GroupPlacement out;
  out.ranks = static_cast<std::int64_t>(devices.size());
  out.nodes = static_cast<std::int64_t>(islands.size());
  out.pods = pods_of(islands, cluster.graph->fabric.nodes_per_pod);
  out.fewest_per_node = out.ranks;
  Places seen;
  const IslandKind* seen_in = nullptr;
  for (const Members& m : islands) {
    const auto count = static_cast<std::int64_t>(m.places.size());
    out.ranks_per_node = std::max(out.ranks_per_node, count);
    out.fewest_per_node = std::min(out.fewest_per_node, count);
    // Most groups have the same places in every island.
    const IslandKind& kind = cluster.graph->kind(m.island);
    if (count > 1 && (&kind != seen_in || !std::ranges::equal(seen, m.places))) {
      const IslandPaths paths = island_paths(kind, m.places);
      worsen(out.intra, paths.all);
      worsen(out.intra_alone, paths.alone);
      worsen(out.intra_exchange, paths.exchange);
      worsen(out.intra_exchange_alone, paths.exchange_alone);
      seen = m.places, seen_in = &kind;
    }
  }
  if (out.nodes > 1) place_between(cluster, islands, out);
  find_weakest(cluster, islands, out);
  return out;
}

std::vector<std::string> devices_of_ranks(const Cluster& cluster,
                                          const std::vector<std::int64_t>& placement) {
  std::vector<std::string> out;
  if (cluster.kinds() == 1) return out;
  const std::int64_t ranks =
      placement.empty() ? cluster.world_size() : static_cast<std::int64_t>(placement.size());
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    out.push_back(cluster.kind(cluster.kind_of(device_of(rank, placement))).device.name);
  }
  if (std::ranges::adjacent_find(out, std::ranges::not_equal_to()) == out.end()) out.clear();
  return out;
}

}  // namespace plait
