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

BytesPerSecond Cabling::count(const Senders& senders, Towards towards, std::int64_t flows,
                              std::int64_t first) const {
  const std::size_t n = senders.nodes.size();
  const std::int64_t sending = std::min(flows, nics_);
  std::map<Hop, double> load;
  std::vector<Hop> hops;
  const auto send = [&](std::int64_t from, std::int64_t to, double flow) {
    for (std::int64_t k = first; k < first + sending; ++k) {
      const std::int64_t a = from * nics_ + k % nics_, b = to * nics_ + k % nics_;
      hops.clear();
      way(a, b, turn(a, b) % ways(a, b), hops);
      for (std::size_t h = 1; h + 1 < hops.size(); ++h) load[hops[h]] += flow;
    }
  };
  const double on_nic = static_cast<double>(flows) / static_cast<double>(sending);
  for (std::size_t i = 0; i < n; ++i) {
    if (towards == Towards::kNext) {
      send(senders.nodes[i], senders.nodes[(i + 1) % n], on_nic);
      continue;
    }
    for (std::size_t j = 0; j < n; ++j) {
      if (j != i) send(senders.nodes[i], senders.nodes[j], on_nic / static_cast<double>(n - 1));
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
  BytesPerSecond alone = fabric_.bandwidth;
  for (std::int64_t first = 0; first < nics_; first += std::min(senders.own, nics_))
    alone = std::min(alone, count(senders, towards, senders.own, first));
  return {std::min({all, alone, count(senders, towards, senders.all, 0)}), alone};
}

}  // namespace plait
