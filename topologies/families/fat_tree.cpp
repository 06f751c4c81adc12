// Given P nodes per pod with k NICs on r rails (one, where all NICs of a node are on one leaf), a
// leaf has D = P * ceil(k / r) cables of bandwidth B down. With oversubscription o its cables up
// carry D * B / o in total, spread evenly over S = ceil(D / o) spines. S never exceeds the cables,
// so each spine has one cable from each leaf, of B when D / o is whole and slightly less otherwise.
// A message that is spread over them all is held up by none of these.
//
// With three levels the G pods of a block have spines of their own, and spine j of every block has
// the same C = ceil(G r / o') cores above it, o' being the oversubscription of the spines.
//
// Cables: those of the ports, then leaf l to spine j as ports + l S + j, then spine (b, j) to core
// (j, c) as (b S + j) C + c. A way is a spine, or a spine and a core. All cables up from a leaf are
// one trunk, and so are those down to it, those up from a block and those down to it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "topologies/families/families.h"

namespace plait {
namespace {

class FatTree : public Cabling {
 public:
  FatTree(const Fabric& fabric, std::int64_t nodes, std::int64_t nics)
      : Cabling(fabric, nodes, nics), pods_(ceil_div(nodes, fabric.nodes_per_pod)) {
    leafs_ = pods_ * fabric.rails;
    pods_per_block_ = fabric.levels > 2 ? fabric.pods_per_block : pods_;
    blocks_ = ceil_div(pods_, pods_per_block_);
    const auto down = static_cast<double>(fabric.nodes_per_pod * ceil_div(nics, fabric.rails));
    leaf_up_ = down / fabric.oversubscription;
    if (leafs_ > 1) spines_ = static_cast<std::int64_t>(std::ceil(leaf_up_));
    up_ = fabric.bandwidth * (leaf_up_ / std::ceil(leaf_up_));
    const double spine_up =
        static_cast<double>(pods_per_block_ * fabric.rails) / fabric.spine_oversubscription;
    if (blocks_ > 1) cores_ = static_cast<std::int64_t>(std::ceil(spine_up));
    core_up_ = up_ * (spine_up / std::ceil(spine_up));
  }

  std::string shape() const override {
    const char* kind = fabric_.rails > 1 ? "rail-optimised tree" : "fat tree";
    if (leafs_ == 1) return fmt::format("{} of one switch", kind);
    std::string out = fmt::format("{} of {} levels of switches, {:.3g} : 1 at leafs", kind,
                                  blocks_ > 1 ? 3 : 2, fabric_.oversubscription);
    if (blocks_ > 1) out += fmt::format(", {:.3g} : 1 at spines", fabric_.spine_oversubscription);
    return out;
  }
  std::vector<Ports> ports_needed() const override {
    const std::int64_t down = fabric_.nodes_per_pod * ceil_div(nics_, fabric_.rails);
    if (leafs_ == 1) return {{"a leaf", std::min(down, nodes_ * nics_)}};
    return {{"leafs", down + spines_},
            {"spines", std::min(pods_, pods_per_block_) * fabric_.rails + cores_},
            {"cores", cores_ > 0 ? blocks_ : 0}};
  }

  std::int64_t switches() const override { return leafs_ + (blocks_ + cores_) * spines_; }
  Vertex vertex(std::int64_t s) const override {
    if (s < leafs_) return {VertexKind::kLeaf, s, fabric_.switch_latency};
    s -= leafs_;
    if (s < blocks_ * spines_) return {VertexKind::kSpine, s, fabric_.switch_latency};
    return {VertexKind::kCore, s - blocks_ * spines_, fabric_.switch_latency};
  }
  std::string name_of(std::int64_t s) const override {
    if (s < leafs_) return fmt::format("pod {} leaf {}", s / fabric_.rails, s % fabric_.rails);
    const std::int64_t above = vertex(s).index;
    if (vertex(s).kind == VertexKind::kCore) return fmt::format("core {}", above);
    if (blocks_ == 1) return fmt::format("spine {}", above);
    return fmt::format("block {} spine {}", above / spines_, above % spines_);
  }

  std::int64_t cables() const override { return first_core() + blocks_ * spines_ * cores_; }
  Cable cable(std::int64_t c) const override {
    if (c < ports()) return port_cable(c, leaf_of(c));
    if (c < first_core()) {
      const std::int64_t leaf = (c - ports()) / spines_, spine = (c - ports()) % spines_;
      Cable out = switch_cable(leaf, leafs_ + block_of(leaf) * spines_ + spine, up_);
      out.spread = std::min(fabric_.bandwidth, fabric_.bandwidth * leaf_up_);
      return out;
    }
    const std::int64_t spine = (c - first_core()) / cores_, core = (c - first_core()) % cores_;
    Cable out = switch_cable(
        leafs_ + spine, leafs_ + blocks_ * spines_ + spine % spines_ * cores_ + core, core_up_);
    out.spread = std::min(fabric_.bandwidth, core_up_ * static_cast<double>(spines_ * cores_));
    return out;
  }

  std::int64_t ways(std::int64_t from, std::int64_t to) const override {
    const std::int64_t here = leaf_of(from), there = leaf_of(to);
    if (here == there) return 1;
    return block_of(here) == block_of(there) ? spines_ : spines_ * cores_;
  }
  void way(std::int64_t from, std::int64_t to, std::int64_t which,
           std::vector<Hop>& hops) const override {
    const std::int64_t here = leaf_of(from), there = leaf_of(to);
    hops.push_back(forth(from));
    if (here != there) {
      const std::int64_t spine = which % spines_, core = which / spines_;
      hops.push_back(forth(ports() + here * spines_ + spine));
      if (block_of(here) != block_of(there)) {
        hops.push_back(forth(first_core() + (block_of(here) * spines_ + spine) * cores_ + core));
        hops.push_back(back(first_core() + (block_of(there) * spines_ + spine) * cores_ + core));
      }
      hops.push_back(back(ports() + there * spines_ + spine));
    }
    hops.push_back(back(to));
  }
  Hop trunk(Hop hop) const override {
    const auto least = [hop](std::int64_t first, std::int64_t cables) {
      return 2 * (first + (hop / 2 - first) / cables * cables) + hop % 2;
    };
    if (hop / 2 < ports()) return hop;
    return hop / 2 < first_core() ? least(ports(), spines_) : least(first_core(), spines_ * cores_);
  }

  /// The number of levels to climb.
  std::int64_t closeness(std::int64_t a, std::int64_t b) const override {
    const std::int64_t p = a / fabric_.nodes_per_pod, q = b / fabric_.nodes_per_pod;
    if (p == q) return 0;
    return p / pods_per_block_ == q / pods_per_block_ ? 1 : 2;
  }
  std::int64_t period() const override {
    if (pods_ == 1) return 1;
    return fabric_.nodes_per_pod * (blocks_ > 1 ? pods_per_block_ : 1);
  }
  std::int64_t run() const override { return fabric_.nodes_per_pod; }

  /// Of the flows of k nodes in a pod, of K, 1 / k leave it in a ring, and of each flow (K - k) /
  /// (K - 1) in an exchange. The P / k groups like it send these over the D B / o that leave a
  /// leaf; and so on for blocks. In the last pod, where nodes may be missing, fewer do.
  Shares shares(const Senders& senders, Towards towards) const override {
    constexpr BytesPerSecond kNone(std::numeric_limits<double>::infinity());
    Shares out = {kNone, kNone};
    const double ports_per_flow = static_cast<double>(nics_) / static_cast<double>(senders.all);
    const auto everywhere = static_cast<double>(senders.nodes.size());
    double oversubscription = fabric_.oversubscription;
    BytesPerSecond total = fabric_.bandwidth * leaf_up_;
    const auto limit = [&](std::int64_t nodes, std::int64_t flows) {
      if (senders.nodes.front() / nodes == senders.nodes.back() / nodes) return;
      for_each_part(senders.nodes, nodes, [&](double here, double there) {
        const double for_each_that_leaves =
            towards == Towards::kNext ? here : (everywhere - 1) / (everywhere - here);
        const double share = for_each_that_leaves * static_cast<double>(nodes) / there;
        out.all = std::min(out.all, fabric_.bandwidth * share / oversubscription * ports_per_flow);
        out.alone = std::min(out.alone,
                             total / (static_cast<double>(flows) * (here / for_each_that_leaves)));
      });
    };
    limit(fabric_.nodes_per_pod, senders.own_per_rail);
    oversubscription *= fabric_.spine_oversubscription;
    total = total *
            (static_cast<double>(pods_per_block_ * fabric_.rails) / fabric_.spine_oversubscription);
    limit(fabric_.nodes_per_pod * pods_per_block_, senders.own);
    return out;
  }

 private:
  /// How many of the nodes are among each `per` in a row, and how many of these there are at all.
  template <class Visit>
  void for_each_part(std::span<const std::int64_t> nodes, std::int64_t per, Visit visit) const {
    double here = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ++here;
      if (i + 1 < nodes.size() && nodes[i] / per == nodes[i + 1] / per) continue;
      visit(here, static_cast<double>(std::min(per, nodes_ - nodes[i] / per * per)));
      here = 0;
    }
  }
  std::int64_t first_core() const { return ports() + leafs_ * spines_; }
  std::int64_t leaf_of(std::int64_t port) const {
    return port / nics_ / fabric_.nodes_per_pod * fabric_.rails + port % nics_ % fabric_.rails;
  }
  std::int64_t block_of(std::int64_t leaf) const { return leaf / fabric_.rails / pods_per_block_; }

  std::int64_t pods_, leafs_ = 0, pods_per_block_ = 1, blocks_ = 1;
  std::int64_t spines_ = 0, cores_ = 0;  // of a block; above each spine
  double leaf_up_ = 0;                   // bandwidth up from a leaf, in ports
  BytesPerSecond up_, core_up_;          // a cable from a leaf to a spine, from a spine to a core
};

}  // namespace

std::unique_ptr<const Cabling> fat_tree(const Fabric& fabric, std::int64_t nodes,
                                        std::int64_t nics) {
  return std::make_unique<FatTree>(fabric, nodes, nics);
}

}  // namespace plait
