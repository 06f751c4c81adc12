#include "topologies/cabling.h"

#include <algorithm>
#include <map>

namespace plait {

BytesPerSecond Cabling::counted_alone(const Senders& senders, Towards towards,
                                      BytesPerSecond all) const {
  constexpr std::size_t kMostCounted = 64;  // their pairs are 4,032
  const std::size_t n = senders.nodes.size();
  const bool ring = towards == Towards::kNext;
  if (!ring && n > kMostCounted) return all;
  std::map<Hop, double> load;  // nodes' flows
  std::vector<Hop> hops;
  const auto send = [&](std::int64_t from, std::int64_t to, double flow) {
    hops.clear();
    way(from * nics_, to * nics_, (from + to) % ways(from * nics_, to * nics_), hops);
    for (std::size_t h = 1; h + 1 < hops.size(); ++h) load[hops[h]] += flow;
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (ring) {
      send(senders.nodes[i], senders.nodes[(i + 1) % n], 1);
      continue;
    }
    for (std::size_t j = 0; j < n; ++j) {
      if (j != i) send(senders.nodes[i], senders.nodes[j], 1 / static_cast<double>(n - 1));
    }
  }
  BytesPerSecond least = fabric_.bandwidth;
  for (const auto& [hop, flows] : load) {
    least = std::min(least, cable(hop / 2).bandwidth / (flows * static_cast<double>(senders.own)));
  }
  return std::max(least, all);
}

}  // namespace plait
