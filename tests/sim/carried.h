#pragma once
// How long the links of the machine written out take to carry what groups send: no network can be
// faster.

#include <algorithm>
#include <vector>

#include "sim/flow/connections.h"
#include "topologies/network.h"

namespace plait {

using DeviceGroup = std::vector<std::int64_t>;

/// Per byte of nccl-tests' size, when all of these groups run the collective at the same time.
inline double seconds_per_byte(const Cluster& cluster, const std::vector<DeviceGroup>& groups,
                               CollectiveKind kind) {
  const auto network = make_network(cluster, routing_of(cluster));
  std::vector<double> load(network->links().size());
  std::vector<LinkId> way;
  for (const DeviceGroup& group : groups) {
    for (const Connection& c : connections_of({Algorithm::kRing, kind}, {}, group, cluster)) {
      way.clear();
      network->route(c.from, c.to, 0, way);
      for (const LinkId link : way) load[link] += c.share;
    }
  }
  double longest = 0;
  for (std::size_t l = 0; l < load.size(); ++l)
    longest = std::max(longest, load[l] / network->links()[l].bandwidth.value);
  return longest;
}

}  // namespace plait
