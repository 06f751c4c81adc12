#include "topologies/cabling.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace plait {

std::string Cabling::in_words() const {
  std::string out = shape();
  for (const Ports& p : ports_needed()) {
    if (p.needed <= fabric_.switch_ports) continue;
    out += fmt::format("; {} would need {} ports, and a switch has {}", p.switches, p.needed,
                       fabric_.switch_ports);
  }
  return out;
}

// All NICs of a node are on one switch.
std::vector<Cabling::NodeFlow> Cabling::flows_of(const Senders& senders, Towards towards) const {
  const std::size_t n = senders.nodes.size();
  std::vector<NodeFlow> out;
  std::vector<Hop> hops;
  const auto send = [&](std::int64_t from, std::int64_t to, double share) {
    const std::int64_t a = from * nics_, b = to * nics_, count = ways(a, b);
    NodeFlow& flow = out.emplace_back(NodeFlow{share, {}});
    for (std::int64_t k = 0; k < std::min(count, nics_); ++k) {
      hops.clear();
      way(a, b, turn(a + k, b + k) % count, hops);
      flow.ways.emplace_back(hops.begin() + 1, hops.end() - 1);
    }
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (towards == Towards::kNext) {
      send(senders.nodes[i], senders.nodes[(i + 1) % n], 1);
      continue;
    }
    for (std::size_t j = 0; j < n; ++j) {
      if (j != i) send(senders.nodes[i], senders.nodes[j], 1 / static_cast<double>(n - 1));
    }
  }
  return out;
}

BytesPerSecond Cabling::least_left(std::span<const NodeFlow> nodes, std::int64_t flows,
                                   std::int64_t first) const {
  const std::int64_t sending = std::min(flows, nics_);
  const double on_nic = static_cast<double>(flows) / static_cast<double>(sending);
  std::map<Hop, double> load;
  std::vector<double> nics_on;  // of a way
  for (const NodeFlow& node : nodes) {
    nics_on.assign(node.ways.size(), 0);
    for (std::int64_t k = first; k < first + sending; ++k)
      ++nics_on[static_cast<std::size_t>(k % nics_) % nics_on.size()];
    for (std::size_t w = 0; w < nics_on.size(); ++w) {
      if (nics_on[w] == 0) continue;
      for (const Hop hop : node.ways[w]) load[hop] += nics_on[w] * on_nic * node.share;
    }
  }
  BytesPerSecond least = fabric_.bandwidth;
  for (const auto& [hop, carried] : load)
    least = std::min(least, cable(hop / 2).bandwidth / carried);
  return least;
}

// Which NICs the group's own flows are on is not known: the worst is taken.
Shares Cabling::counted(const Senders& senders, Towards towards, BytesPerSecond all) const {
  constexpr std::size_t kMostCounted = 64;  // their pairs are 4,032
  if (towards == Towards::kAll && senders.nodes.size() > kMostCounted) return {all, all};
  const std::vector<NodeFlow> nodes = flows_of(senders, towards);
  const bool alike =
      std::ranges::all_of(nodes, [](const NodeFlow& flow) { return flow.ways.size() == 1; });
  BytesPerSecond alone = fabric_.bandwidth;
  for (std::int64_t first = 0; first < (alike ? 1 : nics_); first += std::min(senders.own, nics_))
    alone = std::min(alone, least_left(nodes, senders.own, first));
  return {std::min({all, alone, least_left(nodes, senders.all, 0)}), alone};
}

}  // namespace plait
