#include "sim/flow/connections.h"

#include <algorithm>

#include "plan/collectives/traffic.h"

namespace plait {
namespace {

Arrangement arrangement_of(Algorithm algorithm, CollectiveKind kind) {
  (void)algorithm;
  if (kind == CollectiveKind::kAllToAll) return {Pattern::kDirect};
  if (kind == CollectiveKind::kBroadcast) return {Pattern::kBinomial};
  return {Pattern::kRing};
}

}  // namespace

std::vector<Connection> connections_of(Algorithm algorithm, CollectiveKind kind,
                                       std::span<const std::int64_t> devices,
                                       const Cluster& cluster) {
  (void)cluster;
  std::vector<std::int64_t> sorted(devices.begin(), devices.end());  // node by node
  std::ranges::sort(sorted);
  const auto n = static_cast<std::int64_t>(sorted.size());
  const Bytes whole(n * n * 1024);  // divides evenly among members and channels
  std::vector<Connection> out;
  for (const Traffic& t : traffic_of(arrangement_of(algorithm, kind), kind, n, whole)) {
    out.push_back({sorted[static_cast<std::size_t>(t.from)], sorted[static_cast<std::size_t>(t.to)],
                   static_cast<double>(t.bytes.value) / static_cast<double>(whole.value)});
  }
  return out;
}

}  // namespace plait
