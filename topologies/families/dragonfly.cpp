// Given P nodes per router, a routers per group and h global cables per router (Kim et al., ISCA
// 2008): all routers of a group are joined to each other, and each two of the G groups by m = a h /
// (G - 1) cables, rounded down. The cables of a group that lead delta groups on (0 < delta < G)
// have the numbers q = t (G - 1) + delta - 1, t < m, and cable q is on router q / h.
//
// Cables: those of the ports, then the pairs of routers group by group, then the pairs of groups. A
// message crosses one global cable at most, and the group's cables to it and from it; ways are the
// global cables that take fewest hops.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "topologies/families/families.h"

namespace plait {
namespace {

/// Pairs of n things on a circle, numbered: i and i + delta have (delta - 1) n + i, delta <= n / 2.
struct Pairs {
  std::int64_t n = 1;
  std::int64_t count() const { return n * (n - 1) / 2; }
  std::int64_t first(std::int64_t pair) const { return pair % n; }
  std::int64_t second(std::int64_t pair) const { return (pair % n + pair / n + 1) % n; }
  /// The direction from i to j of their pair.
  Hop hop(std::int64_t i, std::int64_t j) const {
    const std::int64_t ahead = (j - i + n) % n;
    const bool forwards = 2 * ahead < n || (2 * ahead == n && i < j);
    return forwards ? forth((ahead - 1) * n + i) : back((n - ahead - 1) * n + j);
  }
};

class Dragonfly : public Cabling {
 public:
  Dragonfly(const Fabric& fabric, std::int64_t nodes, std::int64_t nics)
      : Cabling(fabric, nodes, nics),
        routers_{fabric.routers_per_group},
        groups_{ceil_div(ceil_div(nodes, fabric.nodes_per_pod), fabric.routers_per_group)} {
    if (groups_.n > 1) between_ = routers_.n * fabric.global_cables / (groups_.n - 1);
  }

  std::string shape() const override {
    const std::int64_t nics = fabric_.nodes_per_pod * nics_;
    const auto part = [](std::int64_t from, std::int64_t cables, const char* where) {
      return fmt::format(", {:.3g} : 1 {} ({} NICs, {} cables)",
                         static_cast<double>(from) / static_cast<double>(cables), where, from,
                         cables);
    };
    std::string out = fmt::format("dragonfly of {} groups of {} routers", groups_.n, routers_.n);
    if (routers_.n > 1)
      out += part(nics, (routers_.n - 1) * fabric_.parallel_cables, "from a router into its group");
    if (groups_.n > 1)
      out += part(nics * routers_.n, between_ * (groups_.n - 1), "from a group to others");
    return out;
  }
  std::vector<Ports> ports_needed() const override {
    return {{"routers", fabric_.nodes_per_pod * nics_ + (routers_.n - 1) * fabric_.parallel_cables +
                            (groups_.n > 1 ? fabric_.global_cables : 0)}};
  }

  std::int64_t switches() const override { return groups_.n * routers_.n; }
  Vertex vertex(std::int64_t s) const override {
    return {VertexKind::kRouter, s, fabric_.switch_latency};
  }
  std::string name_of(std::int64_t s) const override {
    return fmt::format("group {} router {}", s / routers_.n, s % routers_.n);
  }

  std::int64_t cables() const override { return first_global() + groups_.count() * between_; }
  Cable cable(std::int64_t c) const override {
    if (c < ports()) return port_cable(c, router_of(c));
    if (c < first_global()) {
      const std::int64_t group = (c - ports()) / routers_.count();
      const std::int64_t pair = (c - ports()) % routers_.count();
      return switch_cable(group * routers_.n + routers_.first(pair),
                          group * routers_.n + routers_.second(pair), fabric_.bandwidth,
                          fabric_.parallel_cables);
    }
    const std::int64_t pair = (c - first_global()) / between_;
    const std::int64_t t = (c - first_global()) % between_;
    const std::int64_t i = groups_.first(pair), j = groups_.second(pair);
    return switch_cable(gateway(i, j, t), gateway(j, i, t), fabric_.bandwidth, 1);
  }

  std::int64_t ways(std::int64_t from, std::int64_t to) const override {
    const std::int64_t r = router_of(from), s = router_of(to);
    if (group(r) == group(s)) return 1;
    const std::int64_t least = fewest_local(r, s);
    std::int64_t out = 0;
    for (std::int64_t t = 0; t < between_; ++t) out += local(r, s, t) == least ? 1 : 0;
    return out;
  }
  void way(std::int64_t from, std::int64_t to, std::int64_t which,
           std::vector<Hop>& hops) const override {
    const std::int64_t r = router_of(from), s = router_of(to);
    hops.push_back(forth(from));
    if (group(r) == group(s)) {
      step(r, s, hops);
    } else {
      const std::int64_t t = cable_of_way(r, s, which);
      step(r, gateway(group(r), group(s), t), hops);
      const Hop pair = groups_.hop(group(r), group(s));
      hops.push_back(2 * (first_global() + pair / 2 * between_ + t) + pair % 2);
      step(gateway(group(s), group(r), t), s, hops);
    }
    hops.push_back(back(to));
  }
  Hop trunk(Hop hop) const override { return hop; }

  /// The number of cables between the routers.
  std::int64_t closeness(std::int64_t a, std::int64_t b) const override {
    const std::int64_t r = router_at(a), s = router_at(b);
    if (group(r) == group(s)) return r == s ? 0 : 1;
    return 1 + fewest_local(r, s);
  }
  /// A router when there is one group, else a group.
  std::int64_t period() const override {
    return fabric_.nodes_per_pod * (groups_.n > 1 ? routers_.n : 1);
  }

  /// When all nodes send as far as those of the group: the cables of one distance carry alike, if
  /// other groups begin at every router; no more than the group's nodes have without them. Of
  /// the group's flows, f reach delta groups on: every group then sends f of its flows over m
  /// cables, and each router its own part of them over its cables to the routers that these are on.
  /// In an exchange all distances come together, over all cables inside of a group.
  Shares shares(const Senders& senders, Towards towards) const override {
    const Reach reach =
        towards == Towards::kNext ? reach_of_ring(senders.nodes) : reach_to_all(senders.nodes);
    const auto router = static_cast<double>(fabric_.nodes_per_pod * senders.all);
    const auto lanes = static_cast<double>(fabric_.parallel_cables);
    double load = 1, local = 0, through = 0;  // flows on one cable
    for (const auto& [ahead, part] : reach.inside) local = std::max(local, router * part);
    for (const auto& [ahead, part] : reach.global) {
      const double flows = router * part;
      load =
          std::max(load, flows * static_cast<double>(routers_.n) / static_cast<double>(between_));
      if (towards == Towards::kNext) {
        through = std::max(through, flows / static_cast<double>(gateways(ahead)));
      } else if (routers_.n > 1) {
        through += flows * mean_local(ahead) / static_cast<double>(routers_.n - 1);
      }
    }
    const bool together = towards == Towards::kAll;
    load = std::max(load, (together ? local + through : std::max(local, through)) / lanes);
    return counted(senders, towards, fabric_.bandwidth / load);
  }

 private:
  /// Which part of a group's flows goes how far: groups on, and routers on in the same one.
  struct Reach {
    std::map<std::int64_t, double> global, inside;
  };
  Reach reach_of_ring(std::span<const std::int64_t> nodes) const {
    Reach out;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::int64_t to = router_at(nodes[(i + 1) % nodes.size()]);
      add(router_at(nodes[i]), to, 1 / static_cast<double>(nodes.size()), out);
    }
    return out;
  }
  Reach reach_to_all(std::span<const std::int64_t> nodes) const {
    std::map<std::int64_t, double> on_router, in_group;
    for (const std::int64_t node : nodes) ++on_router[router_at(node)];
    for (const auto& [router, count] : on_router) in_group[group(router)] += count;
    const auto n = static_cast<double>(nodes.size());
    Reach out;
    for (const auto& [r, from] : on_router) {
      for (auto s = on_router.lower_bound(group(r) * routers_.n);
           s != on_router.end() && group(s->first) == group(r); ++s) {
        add(r, s->first, from * s->second / (n * (n - 1)), out);
      }
    }
    for (const auto& [i, from] : in_group) {
      for (const auto& [j, to] : in_group) {
        if (i != j) add(i * routers_.n, j * routers_.n, from * to / (n * (n - 1)), out);
      }
    }
    return out;
  }
  /// The part of the flows that goes from router r to router s.
  void add(std::int64_t r, std::int64_t s, double part, Reach& out) const {
    if (r == s) return;
    const std::int64_t ahead = group(s) - group(r);
    if (ahead != 0) out.global[(ahead + groups_.n) % groups_.n] += part;
    if (ahead == 0) out.inside[(s - r + routers_.n) % routers_.n] += part;
  }
  /// Cables inside of the two groups that a flow crosses to the group `ahead`, over all routers.
  double mean_local(std::int64_t ahead) const {
    std::int64_t sum = 0;
    for (std::int64_t r = 0; r < routers_.n; ++r) {
      for (std::int64_t s = 0; s < routers_.n; ++s) sum += fewest_local(r, ahead * routers_.n + s);
    }
    return static_cast<double>(sum) / static_cast<double>(routers_.n * routers_.n);
  }
  std::int64_t first_global() const { return ports() + groups_.n * routers_.count(); }
  std::int64_t router_at(std::int64_t node) const { return node / fabric_.nodes_per_pod; }
  std::int64_t router_of(std::int64_t port) const { return router_at(port / nics_); }
  std::int64_t group(std::int64_t router) const { return router / routers_.n; }
  /// The router of group i that the t-th cable to group j is on.
  std::int64_t gateway(std::int64_t i, std::int64_t j, std::int64_t t) const {
    const std::int64_t ahead = (j - i + groups_.n) % groups_.n;
    return i * routers_.n + (t * (groups_.n - 1) + ahead - 1) / fabric_.global_cables;
  }
  /// Routers of a group that have cables to the group `ahead`.
  std::int64_t gateways(std::int64_t ahead) const {
    std::int64_t out = 0, last = -1;
    for (std::int64_t t = 0; t < between_; ++t) {
      const std::int64_t router = gateway(0, ahead, t);
      out += router != last ? 1 : 0, last = router;
    }
    return out;
  }
  /// Cables inside of groups on the way from router r to router s over the t-th global one.
  std::int64_t local(std::int64_t r, std::int64_t s, std::int64_t t) const {
    return (r != gateway(group(r), group(s), t) ? 1 : 0) +
           (s != gateway(group(s), group(r), t) ? 1 : 0);
  }
  std::int64_t fewest_local(std::int64_t r, std::int64_t s) const {
    std::int64_t least = 2;
    for (std::int64_t t = 0; t < between_; ++t) least = std::min(least, local(r, s, t));
    return least;
  }
  /// Of the cables that take fewest hops, one after the other of different routers.
  std::int64_t cable_of_way(std::int64_t r, std::int64_t s, std::int64_t which) const {
    const std::int64_t least = fewest_local(r, s);
    const std::int64_t apart = ceil_div(fabric_.global_cables, groups_.n - 1);  // of one router
    for (std::int64_t first = 0; first < apart; ++first) {
      for (std::int64_t t = first; t < between_; t += apart) {
        if (local(r, s, t) == least && which-- == 0) return t;
      }
    }
    return 0;  // there are no more ways
  }
  /// Appends the hop between two routers of a group.
  void step(std::int64_t r, std::int64_t s, std::vector<Hop>& hops) const {
    if (r == s) return;
    hops.push_back(2 * (ports() + group(r) * routers_.count()) +
                   routers_.hop(r % routers_.n, s % routers_.n));
  }

  Pairs routers_, groups_;    // of a group, of the machine
  std::int64_t between_ = 0;  // cables between two groups
};

}  // namespace

std::unique_ptr<const Cabling> dragonfly(const Fabric& fabric, std::int64_t nodes,
                                         std::int64_t nics) {
  return std::make_unique<Dragonfly>(fabric, nodes, nics);
}

}  // namespace plait
