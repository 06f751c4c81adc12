// Messages from one pipeline stage to the next, which all devices of a stage send at about the same
// time. Given devices a and b, w devices in a stage and n in an island:
//
//   within an island   device x sends to x + b - a, for all x that have such a peer: links that
//                      several messages cross are divided.
//   between islands    min(w, n) devices of an island send. A NIC is divided by those that it
//                      serves, and so is a PCIe switch's uplink where that leads there; the fabric
//                      as for a ring over the pipeline's islands, of which only those count that
//                      are joined as closely as a and b (Cabling::shares).
#include <algorithm>
#include <numeric>
#include <vector>

#include "topologies/graph.h"
#include "topologies/island_loads.h"
#include "topologies/paths.h"

namespace plait {
namespace {

void divide_within(const IslandKind& kind, std::int64_t from, std::int64_t to, Path& path) {
  const auto n = static_cast<std::int64_t>(kind.island.devices.size());
  IslandLoads loads(kind);
  for (std::int64_t x = 0; x < n; ++x) {
    const std::int64_t peer = x + to - from;
    if (peer >= 0 && peer < n) loads.add(x, peer);
  }
  loads.divide(from, to, path);
}

/// The run of the pipeline's nodes, ascending, around `a` and `b` in which neighbours are as close
/// as these; all of them where these are its ends.
std::vector<std::int64_t> nodes_around(const Graph& g, std::span<const std::int64_t> pipeline,
                                       std::int64_t a, std::int64_t b) {
  std::vector<std::int64_t> nodes;
  for (const std::int64_t device : pipeline) {
    if (nodes.empty() || nodes.back() != device / g.size()) nodes.push_back(device / g.size());
  }
  const auto close = [&, least = g.cabling->closeness(a, b)](std::size_t i) {
    return g.cabling->closeness(nodes[i], nodes[i + 1]) <= least;
  };
  std::size_t first = 0, last = nodes.size() - 1;
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    if (std::minmax(nodes[i], nodes[i + 1]) != std::minmax(a, b)) continue;
    first = i, last = i + 1;
    while (first > 0 && close(first - 1)) --first;
    while (last + 1 < nodes.size() && close(last)) ++last;
    break;
  }
  std::vector<std::int64_t> out(nodes.begin() + static_cast<std::ptrdiff_t>(first),
                                nodes.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Of the n devices of an island, dealt in blocks of so many, those of the block with `device`.
std::vector<std::int64_t> devices_around(std::int64_t device, std::int64_t count, std::int64_t n) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), std::min(device / count * count, n - count));
  return out;
}

void divide_between(const Graph& g, std::int64_t from, std::int64_t to,
                    std::span<const std::int64_t> pipeline, std::int64_t width, Path& path) {
  const std::int64_t a = from / g.size(), b = to / g.size();
  const std::int64_t senders = std::min(width, g.size());
  const auto place = static_cast<std::size_t>(from % g.size());
  const IslandKind& kind = g.kind(a);
  const auto on_nic = static_cast<double>(std::min(senders, kind.devices_per_nic[place]));
  narrow(path, g.fabric.link, g.fabric.bandwidth / on_nic);
  narrow(path, LinkClass::kPcie, kind.slot_of_nic[place] / on_nic);
  narrow(path, LinkClass::kPcie,
         share_through_host(kind, devices_around(from % g.size(), senders, g.size())));
  const std::vector<std::int64_t> nodes = nodes_around(g, pipeline, a, b);
  narrow(path, g.fabric.link,
         g.cabling->shares({.nodes = nodes, .all = senders}, Towards::kNext).all);
}

}  // namespace

PeerPath route_to_peer(const Cluster& cluster, std::int64_t from, std::int64_t to,
                       std::span<const std::int64_t> pipeline, std::int64_t width) {
  const Graph& g = *cluster.graph;
  const Path alone = route(cluster, from, to);
  PeerPath out = {alone, alone};
  const std::int64_t n = g.size();
  if (from / n != to / n) {
    divide_between(g, from, to, pipeline, width, out.all);
  } else if (alone.link != LinkClass::kNvlink) {
    divide_within(g.kind(from / n), from % n, to % n, out.all);
  }
  return out;
}

}  // namespace plait
