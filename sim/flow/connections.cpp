#include "sim/flow/connections.h"

#include <algorithm>

#include "plan/collectives/traffic.h"

namespace plait {
namespace {

using Devices = std::vector<std::int64_t>;

/// Members of each node, in the order of the devices, which go node by node.
std::vector<std::int64_t> members_of_nodes(const Devices& devices, std::int64_t node_size) {
  std::vector<std::int64_t> out;
  std::int64_t last = -1;
  for (const std::int64_t device : devices) {
    if (out.empty() || device / node_size != last) out.push_back(0);
    last = device / node_size, ++out.back();
  }
  return out;
}

/// The devices as ring k goes through them: into each node at its member k, and out at the one
/// before.
Devices entered_at(std::int64_t k, const Devices& devices,
                   const std::vector<std::int64_t>& of_nodes) {
  Devices out;
  out.reserve(devices.size());
  std::int64_t first = 0;
  for (const std::int64_t members : of_nodes) {
    for (std::int64_t i = 0; i < members; ++i)
      out.push_back(devices[static_cast<std::size_t>(first + (k + i) % members)]);
    first += members;
  }
  return out;
}

/// Over nodes that have different numbers of members, whatever the algorithm: as many rings as the
/// emptiest has members, each with as much of the data.
std::vector<Connection> uneven_rings(CollectiveKind kind, const Devices& devices,
                                     const std::vector<std::int64_t>& of_nodes) {
  const auto n = static_cast<std::int64_t>(devices.size());
  const std::int64_t rings = std::ranges::min(of_nodes);
  const Bytes of_ring(n * 1024);
  const double whole = static_cast<double>(of_ring.value * rings);
  std::vector<Connection> out;
  for (std::int64_t k = 0; k < rings; ++k) {
    const Devices order = entered_at(k, devices, of_nodes);
    for (const Traffic& t : traffic_of({}, kind, n, of_ring)) {
      out.push_back({order[static_cast<std::size_t>(t.from)], order[static_cast<std::size_t>(t.to)],
                     static_cast<double>(t.bytes.value) / whole});
    }
  }
  return out;
}

/// As NCCL lays its algorithms out: one channel per NIC of a node, so that all NICs are used.
Arrangement arrangement_of(Algorithm algorithm, CollectiveKind kind, std::int64_t members,
                           std::int64_t per_node) {
  const bool one_node = per_node == members;
  Arrangement out;
  out.members_per_node = per_node;
  out.channels = one_node ? 1 : static_cast<int>(per_node);
  out.chunks = 1;  // how finely it is pipelined changes nothing in the sum
  if (kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kShift) {
    return {Pattern::kDirect};
  }
  if (algorithm == Algorithm::kTree) out.pattern = Pattern::kTree;
  if (algorithm == Algorithm::kPat) out = {Pattern::kPat};
  if (algorithm == Algorithm::kNvls && one_node) out = {Pattern::kNvls};
  if (algorithm == Algorithm::kNvlsTree && !one_node && per_node > 1) {
    out.pattern = Pattern::kHierarchical;
    out.within = Pattern::kNvls, out.between = Pattern::kTree;
    out.channels = 1;
  }
  return knows(out.pattern, kind) ? out : Arrangement{};
}

}  // namespace

std::vector<Connection> connections_of(Algorithm algorithm, CollectiveKind kind,
                                       const Servers& servers,
                                       std::span<const std::int64_t> devices,
                                       const Cluster& cluster) {
  Devices sorted(devices.begin(), devices.end());   // node by node
  if (!is_served(kind)) std::ranges::sort(sorted);  // servers are known by their places
  const auto n = static_cast<std::int64_t>(sorted.size());
  const std::vector<std::int64_t> of_nodes = members_of_nodes(sorted, cluster.devices_per_node);
  const bool even = std::ranges::count(of_nodes, of_nodes.front()) == std::ssize(of_nodes);
  const std::int64_t per_node = even ? of_nodes.front() : 1;
  const std::int64_t shares = is_served(kind) ? servers.count : n;
  const Bytes whole(shares * n * per_node * 1024);  // they and channels are equal
  const auto device = [&](std::int64_t place) { return sorted[static_cast<std::size_t>(place)]; };
  const auto share = [&](Bytes bytes) {
    return static_cast<double>(bytes.value) / static_cast<double>(whole.value);
  };
  std::vector<Connection> out;
  std::vector<double> by_switch(sorted.size(), 0);  // the larger of what goes up and comes down
  Arrangement arrangement = arrangement_of(algorithm, kind, n, per_node);
  if (is_served(kind)) arrangement = {.pattern = Pattern::kDirect, .servers = servers};
  if (!even && arrangement.pattern != Pattern::kDirect) return uneven_rings(kind, sorted, of_nodes);
  for (const Traffic& t : traffic_of(arrangement, kind, n, whole)) {
    if (t.from == kSwitch || t.to == kSwitch) {
      double& most = by_switch[static_cast<std::size_t>(t.to == kSwitch ? t.from : t.to)];
      most = std::max(most, share(t.bytes));
    } else {
      out.push_back({device(t.from), device(t.to), share(t.bytes)});
    }
  }
  // Up from each member and down to the next: every link to a switch carries it once.
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t node = i / per_node * per_node;
    const double most = by_switch[static_cast<std::size_t>(i)];
    if (most > 0) out.push_back({device(i), device(node + (i + 1 - node) % per_node), most});
  }
  return out;
}

}  // namespace plait
