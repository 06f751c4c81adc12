#include "sim/flow/connections.h"

#include <algorithm>

#include "plan/collectives/traffic.h"

namespace plait {
namespace {

/// Members in each node, or 1 where nodes have different numbers of them.
std::int64_t members_per_node(const std::vector<std::int64_t>& sorted, std::int64_t node_size) {
  const auto n = static_cast<std::int64_t>(sorted.size());
  const auto node = [&](std::int64_t i) { return sorted[static_cast<std::size_t>(i)] / node_size; };
  std::int64_t first = 1;
  while (first < n && node(first) == node(0)) ++first;
  for (std::int64_t i = 0; i < n; ++i) {
    if (n % first != 0 || node(i) != node(i - i % first)) return 1;
    if (i >= first && node(i) == node(i - first)) return 1;
  }
  return first;
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
  std::vector<std::int64_t> sorted(devices.begin(), devices.end());  // node by node
  if (!is_served(kind)) std::ranges::sort(sorted);  // servers are known by their places
  const auto n = static_cast<std::int64_t>(sorted.size());
  const std::int64_t per_node = members_per_node(sorted, cluster.devices_per_node);
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
