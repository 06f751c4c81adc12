// Given a set of devices, spread over islands k = 0 .. K-1 in index order, with the members of each
// island in index order:
//
//   intra  the worst route between two members of one island. In a mesh of direct NVLinks a member
//          sends over all of its links at once, so its bandwidth there is the sum of its links to
//          other members.
//   inter  the worst route from member j of island k to member j of island k + 1 (a ring over the
//          islands), as one member's share when every device of the machine is in a group like this
//          one: a NIC is divided by the devices that it serves, and the cables up from a leaf carry
//          one flow per group and pod boundary. With k islands of each pod in the group, P / k such
//          groups cross P / o cables: at most B * k / o each.
#include <algorithm>
#include <span>

#include "core/error.h"
#include "topologies/graph.h"

namespace plait {
namespace {

/// Members of one island by their places in it, ascending.
using Places = std::span<const std::int64_t>;

struct Members {
  std::int64_t island = 0;
  Places places;
};

/// The narrower bandwidth and the longer latency; the narrower one names the link.
void worsen(Path& worst, const Path& path) {
  if (worst.hops == 0) {
    worst = path;
    return;
  }
  const Seconds latency = std::max(worst.latency, path.latency);
  const int hops = std::max(worst.hops, path.hops);
  if (path.bandwidth < worst.bandwidth) worst = path;
  worst.latency = latency;
  worst.hops = hops;
}

/// The group island by island; `places` is the storage that the islands' places lie in.
std::vector<Members> by_island(std::span<const std::int64_t> devices, std::int64_t per_island,
                               std::vector<std::int64_t>& places) {
  std::vector<std::int64_t> sorted(devices.begin(), devices.end());
  if (!std::is_sorted(sorted.begin(), sorted.end())) std::sort(sorted.begin(), sorted.end());
  places.resize(sorted.size());
  std::vector<Members> islands;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::int64_t island = sorted[i] / per_island;
    places[i] = sorted[i] - island * per_island;
    if (islands.empty() || islands.back().island != island)
      islands.push_back({island, {&places[i], 0}});
    islands.back().places = {islands.back().places.data(), islands.back().places.size() + 1};
  }
  return islands;
}

/// Over the direct NVLinks from `from` to other members; zero in a switched island.
BytesPerSecond direct_bandwidth(const Graph& g, std::int64_t from, Places places) {
  BytesPerSecond sum;
  for (const std::int64_t to : places) {
    const Distance& way = g.kinds[0].routes.between(from, to);
    if (way.hops == 1 && way.link == LinkClass::kNvlink) sum += BytesPerSecond(way.bandwidth);
  }
  return sum;
}

Path intra_path(const Cluster& cluster, Places places) {
  const Graph& g = *cluster.graph;
  Path worst;
  BytesPerSecond direct = direct_bandwidth(g, places[0], places);
  for (const std::int64_t from : places) {
    for (const std::int64_t to : places) {
      if (from != to) worsen(worst, route(cluster, from, to));
    }
    direct = std::min(direct, direct_bandwidth(g, from, places));
  }
  if (direct.value > 0) {
    worst.link = LinkClass::kNvlink;
    worst.bandwidth = direct;
  }
  return worst;
}

/// Islands of the group in the pod that has fewest of them.
std::int64_t fewest_per_pod(const std::vector<Members>& islands, std::int64_t nodes_per_pod) {
  std::int64_t fewest = 0, run = 0;
  for (std::size_t k = 0; k < islands.size(); ++k) {
    ++run;
    const bool last = k + 1 == islands.size() ||
                      islands[k].island / nodes_per_pod != islands[k + 1].island / nodes_per_pod;
    if (!last) continue;
    fewest = fewest == 0 ? run : std::min(fewest, run);
    run = 0;
  }
  return fewest;
}

std::int64_t pods_of(const std::vector<Members>& islands, std::int64_t nodes_per_pod) {
  std::int64_t pods = 1;
  for (std::size_t k = 1; k < islands.size(); ++k) {
    pods += islands[k].island / nodes_per_pod != islands[k - 1].island / nodes_per_pod ? 1 : 0;
  }
  return pods;
}

Path inter_path(const Cluster& cluster, const std::vector<Members>& islands) {
  const Graph& g = *cluster.graph;
  const std::int64_t n = g.size();
  Path worst;
  std::int64_t sharers = 1;
  const auto pod = [&g](const Members& m) { return m.island / g.fabric.nodes_per_pod; };
  const Members* last_here = nullptr;
  const Members* last_next = nullptr;
  for (std::size_t k = 0; k < islands.size(); ++k) {
    const Members& here = islands[k];
    const Members& next = islands[(k + 1) % islands.size()];
    // Between the same places, inside a pod or across, the routes are the same.
    if (last_here != nullptr && std::ranges::equal(here.places, last_here->places) &&
        std::ranges::equal(next.places, last_next->places) &&
        (pod(here) == pod(next)) == (pod(*last_here) == pod(*last_next))) {
      continue;
    }
    last_here = &here, last_next = &next;
    for (std::size_t j = 0; j < here.places.size(); ++j) {
      const std::int64_t to = next.places[j % next.places.size()];
      worsen(worst, route(cluster, here.island * n + here.places[j], next.island * n + to));
      sharers =
          std::max(sharers, g.kinds[0].devices_per_nic[static_cast<std::size_t>(here.places[j])]);
    }
  }
  worst.bandwidth = std::min(worst.bandwidth, g.fabric.bandwidth / static_cast<double>(sharers));
  if (pods_of(islands, g.fabric.nodes_per_pod) > 1) {
    const auto k = static_cast<double>(fewest_per_pod(islands, g.fabric.nodes_per_pod));
    worst.bandwidth = std::min(worst.bandwidth, g.fabric.bandwidth * k / g.fabric.oversubscription);
  }
  return worst;
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
  Places seen;
  for (const Members& m : islands) {
    const auto count = static_cast<std::int64_t>(m.places.size());
    out.ranks_per_node = std::max(out.ranks_per_node, count);
    out.uniform = out.uniform && m.places.size() == islands[0].places.size();
    // Most groups have the same places in every island.
    if (count > 1 && !std::ranges::equal(seen, m.places)) {
      worsen(out.intra, intra_path(cluster, m.places));
      seen = m.places;
    }
  }
  if (out.nodes > 1) out.inter = inter_path(cluster, islands);
  out.in_switch_reduction = out.ranks > 1 && cluster.nvswitch_generation >= 3;
  return out;
}

}  // namespace plait
