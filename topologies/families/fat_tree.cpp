// Given P nodes per pod with k NICs on r rails, a leaf has D = P * ceil(k / r) cables of bandwidth
// B down. With oversubscription o its cables up carry D * B / o in total, spread evenly over S =
// ceil(D / o) spines. S never exceeds the cables, so each spine has one cable from each leaf, of B
// when D / o is whole and slightly less otherwise.
//
// Cables: those of the ports, then leaf l to spine s as ports + l * S + s. A way between two leafs
// is a spine. All cables up from a leaf are one trunk, and so are all cables down to it.
#include <fmt/format.h>

#include <cmath>

#include "topologies/families/families.h"

namespace plait {
namespace {

class FatTree : public Cabling {
 public:
  FatTree(const Fabric& fabric, std::int64_t nodes, std::int64_t nics)
      : Cabling(fabric, nodes, nics), leafs_(ceil_div(nodes, fabric.nodes_per_pod) * fabric.rails) {
    const auto down = static_cast<double>(fabric.nodes_per_pod * ceil_div(nics, fabric.rails));
    const double up = down / fabric.oversubscription;
    if (leafs_ > 1) spines_ = static_cast<std::int64_t>(std::ceil(up));
    up_ = fabric.bandwidth * (up / std::ceil(up));
  }

  std::int64_t switches() const override { return leafs_ + spines_; }
  Vertex vertex(std::int64_t s) const override {
    if (s < leafs_) return {VertexKind::kLeaf, s, fabric_.switch_latency};
    return {VertexKind::kSpine, s - leafs_, fabric_.switch_latency};
  }
  std::string name_of(std::int64_t s) const override {
    if (s >= leafs_) return fmt::format("spine {}", s - leafs_);
    return fmt::format("pod {} leaf {}", s / fabric_.rails, s % fabric_.rails);
  }

  std::int64_t cables() const override { return ports() + leafs_ * spines_; }
  Cable cable(std::int64_t c) const override {
    const Seconds half = fabric_.switch_latency * 0.5;
    if (c < ports()) {
      return {c, ports() + leaf_of(c), fabric_.bandwidth,
              fabric_.cable_latency + (fabric_.nic_latency + fabric_.switch_latency) * 0.5};
    }
    const std::int64_t leaf = (c - ports()) / spines_, spine = (c - ports()) % spines_;
    return {ports() + leaf, ports() + leafs_ + spine, up_, fabric_.cable_latency + half + half};
  }

  std::int64_t ways(std::int64_t from, std::int64_t to) const override {
    return leaf_of(from) == leaf_of(to) ? 1 : spines_;
  }
  void way(std::int64_t from, std::int64_t to, std::int64_t which,
           std::vector<Hop>& hops) const override {
    const std::int64_t here = leaf_of(from), there = leaf_of(to);
    hops.push_back(forth(from));
    if (here != there) {
      hops.push_back(forth(ports() + here * spines_ + which));
      hops.push_back(back(ports() + there * spines_ + which));
    }
    hops.push_back(back(to));
  }
  Hop trunk(Hop hop) const override {
    const std::int64_t c = hop / 2;
    if (c < ports()) return hop;
    return 2 * (ports() + (c - ports()) / spines_ * spines_) + hop % 2;
  }

 private:
  std::int64_t leaf_of(std::int64_t port) const {
    return port / nics_ / fabric_.nodes_per_pod * fabric_.rails + port % nics_ % fabric_.rails;
  }

  std::int64_t leafs_, spines_ = 0;
  BytesPerSecond up_;  // one cable from a leaf to a spine
};

}  // namespace

std::unique_ptr<const Cabling> fat_tree(const Fabric& fabric, std::int64_t nodes,
                                        std::int64_t nics) {
  return std::make_unique<FatTree>(fabric, nodes, nics);
}

}  // namespace plait
