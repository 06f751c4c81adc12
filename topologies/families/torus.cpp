// Given dimensions L_0 x L_1 x ... of switches, the last running fastest, each with P nodes: along
// every dimension a switch is joined to both neighbours, around the corner too (a ring of two has
// two cables).
//
// Cables: those of the ports, then along dimension k from switch s upwards as ports + k * S + s. A
// message goes along one dimension after the other, the shorter way round; half way round both are
// equally short, so there are 2^(such dimensions) ways.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "topologies/families/families.h"

namespace plait {
namespace {

class Torus : public Cabling {
 public:
  Torus(const Fabric& fabric, std::int64_t nodes, std::int64_t nics)
      : Cabling(fabric, nodes, nics), length_(fabric.dimensions), stride_(length_.size()) {
    for (std::size_t k = length_.size(); k-- > 0; switches_ *= length_[k]) stride_[k] = switches_;
  }

  std::string shape() const override {
    return fmt::format("torus of {} switches, {} NICs and {} cables of each",
                       fmt::join(length_, " x "), fabric_.nodes_per_pod * nics_, own_cables());
  }
  std::vector<Ports> ports_needed() const override {
    return {{"switches", fabric_.nodes_per_pod * nics_ + own_cables()}};
  }

  std::int64_t switches() const override { return switches_; }
  Vertex vertex(std::int64_t s) const override {
    return {VertexKind::kRouter, s, fabric_.switch_latency};
  }
  std::string name_of(std::int64_t s) const override {
    std::vector<std::int64_t> at;
    for (std::size_t k = 0; k < length_.size(); ++k) at.push_back(coordinate(s, k));
    return fmt::format("router {}", fmt::join(at, ","));
  }

  std::int64_t cables() const override {
    return ports() + static_cast<std::int64_t>(length_.size()) * switches_;
  }
  Cable cable(std::int64_t c) const override {
    if (c < ports()) return port_cable(c, switch_of(c));
    const auto k = static_cast<std::size_t>((c - ports()) / switches_);
    const std::int64_t s = (c - ports()) % switches_;
    return switch_cable(s, move(s, k, 1), fabric_.bandwidth, fabric_.parallel_cables);
  }

  std::int64_t ways(std::int64_t from, std::int64_t to) const override {
    std::int64_t out = 1;
    for (std::size_t k = 0; k < length_.size(); ++k) {
      if (2 * upwards(switch_of(from), switch_of(to), k) == length_[k]) out *= 2;
    }
    return out;
  }
  void way(std::int64_t from, std::int64_t to, std::int64_t which,
           std::vector<Hop>& hops) const override {
    hops.push_back(forth(from));
    std::int64_t at = switch_of(from);
    const std::int64_t end = switch_of(to);
    for (std::size_t k = 0; k < length_.size(); ++k) {
      const std::int64_t up = upwards(at, end, k), down = length_[k] - up;
      bool rises = up < down;
      if (up == down) rises = which % 2 == 0, which /= 2;
      if (up == 0) continue;
      for (std::int64_t step = rises ? up : down; step > 0; --step) {
        const std::int64_t next = move(at, k, rises ? 1 : -1);
        const std::int64_t first = ports() + static_cast<std::int64_t>(k) * switches_;
        hops.push_back(rises ? forth(first + at) : back(first + next));
        at = next;
      }
    }
    hops.push_back(back(to));
  }
  Hop trunk(Hop hop) const override { return hop; }

  std::int64_t closeness(std::int64_t a, std::int64_t b) const override {
    std::int64_t hops = 0;
    for (std::size_t k = 0; k < length_.size(); ++k) {
      const std::int64_t up = upwards(switch_at(a), switch_at(b), k);
      hops += std::min(up, length_[k] - up);
    }
    return hops;
  }
  /// A step along the slowest dimension.
  std::int64_t period() const override { return stride_[0] * fabric_.nodes_per_pod; }

  /// When all nodes send as far in the same directions as those of the group, the links along a
  /// dimension and direction carry alike, (flows of a switch) * (mean steps that way), if other
  /// groups begin at every switch; no more than the group's nodes have without them.
  Shares shares(const Senders& senders, Towards towards) const override {
    const double mean = std::ranges::max(towards == Towards::kNext ? steps_of_ring(senders.nodes)
                                                                   : steps_to_all(senders.nodes));
    const BytesPerSecond link = fabric_.bandwidth * static_cast<double>(fabric_.parallel_cables);
    const auto everyone = static_cast<double>(fabric_.nodes_per_pod * senders.all) * mean;
    return counted(senders, towards, link / std::max(1.0, everyone));
  }

 private:
  /// Of a switch, to its neighbours.
  std::int64_t own_cables() const {
    return 2 * static_cast<std::int64_t>(length_.size()) * fabric_.parallel_cables;
  }
  /// Of a flow in the mean, along each dimension up and down; half way round half of it goes each
  /// way.
  std::vector<double> steps_of_ring(std::span<const std::int64_t> nodes) const {
    std::vector<double> steps(2 * length_.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::int64_t from = switch_at(nodes[i]);
      const std::int64_t to = switch_at(nodes[(i + 1) % nodes.size()]);
      for (std::size_t k = 0; k < length_.size(); ++k) {
        const std::int64_t up = upwards(from, to, k), down = length_[k] - up;
        const double each = up == down ? 0.5 : 1;
        if (up <= down) steps[2 * k] += static_cast<double>(up) * each;
        if (up >= down) steps[2 * k + 1] += static_cast<double>(down) * each;
      }
    }
    for (double& s : steps) s /= static_cast<double>(nodes.size());
    return steps;
  }
  /// Of all pairs, likewise.
  std::vector<double> steps_to_all(std::span<const std::int64_t> nodes) const {
    const auto n = static_cast<double>(nodes.size());
    std::vector<double> steps;
    for (std::size_t k = 0; k < length_.size(); ++k) {
      std::vector<double> at(static_cast<std::size_t>(length_[k]));  // nodes by coordinate
      for (const std::int64_t node : nodes)
        ++at[static_cast<std::size_t>(coordinate(switch_at(node), k))];
      double mean = 0;  // either way: pairs come in both orders
      for (std::size_t a = 0; a < at.size(); ++a) {
        for (std::size_t b = 0; b < at.size(); ++b) {
          const std::size_t ahead = a > b ? a - b : b - a;
          mean += at[a] * at[b] * static_cast<double>(std::min(ahead, at.size() - ahead)) / 2;
        }
      }
      steps.push_back(mean / (n * (n - 1)));
    }
    return steps;
  }
  std::int64_t switch_at(std::int64_t node) const { return node / fabric_.nodes_per_pod; }
  std::int64_t switch_of(std::int64_t port) const { return switch_at(port / nics_); }
  std::int64_t coordinate(std::int64_t s, std::size_t k) const {
    return s / stride_[k] % length_[k];
  }
  std::int64_t move(std::int64_t s, std::size_t k, std::int64_t by) const {
    const std::int64_t at = coordinate(s, k);
    return s + ((at + by + length_[k]) % length_[k] - at) * stride_[k];
  }
  /// Steps from a to b along dimension k, upwards.
  std::int64_t upwards(std::int64_t a, std::int64_t b, std::size_t k) const {
    return (coordinate(b, k) - coordinate(a, k) + length_[k]) % length_[k];
  }

  std::vector<std::int64_t> length_, stride_;
  std::int64_t switches_ = 1;
};

}  // namespace

std::unique_ptr<const Cabling> torus(const Fabric& fabric, std::int64_t nodes, std::int64_t nics) {
  return std::make_unique<Torus>(fabric, nodes, nics);
}

}  // namespace plait
