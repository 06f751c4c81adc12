#include "sim/flow/link_loads.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/random.h"
#include "costmodel/efficiency.h"
#include "sim/flow/connections.h"
#include "sim/network/link_capacity.h"
#include "topologies/placement.h"

namespace plait {
namespace {

using Colour = std::uint64_t;

/// Of a pair. Sums of such colours stand for multisets.
Colour mix(Colour a, Colour b = 0) { return scramble(a * 0x9E3779B97F4A7C15ULL + b); }

std::size_t distinct(std::vector<Colour> colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

/// Numbers by first appearance.
std::vector<std::uint32_t> numbered(const std::vector<Colour>& colours) {
  std::unordered_map<Colour, std::uint32_t> known;
  std::vector<std::uint32_t> out;
  for (const Colour c : colours) {
    out.push_back(known.emplace(c, static_cast<std::uint32_t>(known.size())).first->second);
  }
  return out;
}

constexpr std::uint32_t kNoFlow = 0xFFFFFFFF;

}  // namespace

class LinkLoads::Folding {
 public:
  Folding(LinkLoads& out, const Plan& plan, const Cluster& cluster, const Sites& sites,
          const Network& network, const std::vector<std::int64_t>& placement,
          const std::vector<FlowKind>& kinds)
      : out_(out),
        plan_(plan),
        cluster_(cluster),
        sites_(sites),
        network_(network),
        placement_(placement),
        kinds_(kinds),
        stages_(static_cast<std::size_t>(plan.mesh[Axis::kPp])),
        positions_(static_cast<std::size_t>(plan.places_per_stage())),
        flow_of_(kinds.size() * stages_ * positions_, kNoFlow),
        share_on_(network.links().size(), 0) {
    out.flows_.resize(kinds.size(), 0);
  }

  void run(bool unfold) {
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      for (std::size_t s = 0; s < stages_; ++s) {
        for (std::size_t p = 0; p < positions_; ++p) add(k, s, p);
      }
    }
    const Lanes apart = fold(plan_, sites_, unfold);
    for (const std::uint32_t lane : apart.lane_of) position_.push_back(mix(lane));
    refine();
    std::vector<std::uint32_t> lane_of = numbered(position_);
    out_.lanes_ = lanes_of(plan_, sites_, std::move(lane_of));
    class_links();
    class_flows();
  }

 private:
  // ---- the flows of all groups
  std::uint32_t& flow_at(std::size_t kind, std::size_t stage, std::size_t position) {
    return flow_of_[(kind * stages_ + stage) * positions_ + position];
  }
  std::int64_t device(std::int64_t rank) const { return device_of(rank, placement_); }
  void add(std::size_t k, std::size_t s, std::size_t p) {
    if (flow_at(k, s, p) != kNoFlow) return;
    const FlowKind& kind = kinds_[k];
    const auto positions = static_cast<std::int64_t>(positions_);
    const std::int64_t rank = static_cast<std::int64_t>(s * positions_ + p);
    const auto flow = static_cast<std::uint32_t>(first_.size() - 1);
    if (kind.what == FlowKind::What::kKernel) {
      flow_at(k, s, p) = flow;
      uses_.push_back({*network_.memory_of(device(rank)), kWholeFlow});
      return close(1.0, k, s);
    }
    if (kind.what != FlowKind::What::kCollective) {
      if (stages_ == 1) return;
      const std::int64_t to =
          plan_.mesh.neighbour(rank, Axis::kPp, kind.what == FlowKind::What::kForward ? 1 : -1);
      flow_at(k, s, p) = flow;
      close({{device(rank), device(to), 1.0}}, k, s);
      return;
    }
    const AxisSites& axes = sites_.axis_sets[kind.axis_set];
    const auto stage = static_cast<std::int64_t>(s), of = static_cast<std::int64_t>(stages_);
    if (first_of_meeting(axes.stages, stage, of) < 0) return;
    std::vector<std::int64_t> group = members(plan_.mesh, rank, axes.axes, axes.stages);
    for (std::int64_t& r : group) {
      flow_at(k, static_cast<std::size_t>(r / positions), static_cast<std::size_t>(r % positions)) =
          flow;
      r = device(r);
    }
    if (group.size() < 2) return close({}, k, s);
    close(connections_of(kind.how, plan_.servers, group, cluster_), k, s);
  }
  /// What the flow of these connections takes of each link it crosses.
  void close(const std::vector<Connection>& connections, std::size_t kind, std::size_t stage) {
    double widest = 0;
    for (const Connection& c : connections) widest = std::max(widest, c.share);
    crossed_.clear();
    for (std::size_t i = 0; i < connections.size(); ++i) {
      route_.clear();
      network_.route(connections[i].from, connections[i].to, i, route_);
      for (const LinkId l : route_) {
        if (share_on_[l] == 0) crossed_.push_back(l);
        share_on_[l] += connections[i].share;
      }
    }
    for (const LinkId l : crossed_) {
      const double weight = share_on_[l] / widest * static_cast<double>(kWholeFlow);
      uses_.push_back({l, std::max<std::int64_t>(1, std::llround(weight))});
      share_on_[l] = 0;
    }
    close(widest, kind, stage);
  }
  /// The flow is complete: `uses_` has all that it crosses.
  void close(double widest, std::size_t kind, std::size_t stage) {
    first_.push_back(static_cast<std::uint32_t>(uses_.size()));
    widest_.push_back(widest);
    const FlowKind& k = kinds_[kind];
    const bool across =
        k.what == FlowKind::What::kCollective && sites_.axis_sets[k.axis_set].axes.has(Axis::kPp);
    flow_.push_back(mix(kind, across ? 0 : stage + 1));
    ++out_.flows_[kind];
  }
  std::span<const LinkUse> uses(std::uint32_t flow) const {
    return std::span(uses_).subspan(first_[flow], first_[flow + 1] - first_[flow]);
  }

  /// Memory that devices share gives them what copies reach of it.
  FlowRate capacity(LinkId l) const {
    NetworkLink link = network_.links()[l];
    if (link.link == LinkClass::kDeviceMemory)
      link.bandwidth = link.bandwidth * stream_fit(cluster_.device, StreamKind::kCopy).bandwidth;
    return capacity_of(link);
  }

  // ---- colour refinement
  void refine() {
    for (LinkId l = 0; l < network_.links().size(); ++l) {
      link_.push_back(mix(static_cast<Colour>(capacity(l))));
    }
    incidence_.resize(link_.size());
    std::size_t before = 0, count = 1;
    while (count != before) {
      before = count;
      refine_flows();
      refine_links();
      refine_positions();
      count = distinct(flow_) + distinct(link_) + distinct(position_);
    }
  }
  void refine_flows() {
    std::vector<Colour> around(flow_.size(), 0);
    for (std::size_t i = 0; i < flow_of_.size(); ++i) {
      if (flow_of_[i] != kNoFlow) around[flow_of_[i]] += mix(position_[i % positions_], 1);
    }
    for (std::uint32_t f = 0; f < flow_.size(); ++f) {
      for (const LinkUse& u : uses(f)) {
        around[f] += mix(link_[u.link], static_cast<Colour>(u.weight));
      }
      flow_[f] = mix(flow_[f], around[f]);
    }
  }
  void refine_links() {
    std::ranges::fill(incidence_, 0);
    for (std::uint32_t f = 0; f < flow_.size(); ++f) {
      for (const LinkUse& u : uses(f)) {
        incidence_[u.link] += mix(flow_[f], static_cast<Colour>(u.weight));
      }
    }
    for (std::size_t l = 0; l < link_.size(); ++l) link_[l] = mix(link_[l], incidence_[l]);
  }
  void refine_positions() {
    for (std::size_t i = 0; i < flow_of_.size(); ++i) {
      if (flow_of_[i] == kNoFlow) continue;
      Colour& p = position_[i % positions_];
      p = mix(p, flow_[flow_of_[i]]);
    }
  }

  // ---- one of each class
  /// Of links that the same flows cross only the narrowest can hold them up.
  void class_links() {
    const std::size_t links = network_.links().size();
    std::unordered_map<Colour, LinkId> narrowest;  // by what crosses them
    for (LinkId l = 0; l < links; ++l) {
      if (incidence_[l] == 0) continue;
      const auto [at, fresh] = narrowest.emplace(incidence_[l], l);
      if (!fresh && capacity(l) < capacity(at->second)) at->second = l;
    }
    class_of_link_.assign(links, kNoLink);
    std::unordered_map<Colour, std::uint32_t> known;
    for (LinkId l = 0; l < links; ++l) {
      if (incidence_[l] == 0 || link_[narrowest[incidence_[l]]] != link_[l]) continue;
      const auto [at, fresh] =
          known.emplace(link_[l], static_cast<std::uint32_t>(out_.links_.size()));
      if (fresh) out_.links_.push_back({l, capacity(l), 0});
      class_of_link_[l] = at->second;
      ++out_.links_[at->second].multiplicity;
    }
  }
  void class_flows() {
    const std::vector<std::uint32_t> class_of = numbered(flow_);
    // What all flows of a class take of the representative of a link class.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> together;
    for (std::uint32_t f = 0; f < flow_.size(); ++f) {
      for (const LinkUse& u : uses(f)) {
        const std::uint32_t l = class_of_link_[u.link];
        if (l != kNoLink && out_.links_[l].representative == u.link) {
          together[{class_of[f], l}] += u.weight;
        }
      }
    }
    for (std::uint32_t f = 0; f < flow_.size(); ++f) {
      if (class_of[f] == out_.classes_.size()) {
        out_.classes_.push_back(flow_class(f, class_of[f], together));
      }
      ++out_.classes_[class_of[f]].multiplicity;
    }
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      for (std::size_t s = 0; s < stages_; ++s) {
        for (const std::int64_t p : out_.lanes_.representative) {
          const std::uint32_t f = flow_at(k, s, static_cast<std::size_t>(p));
          out_.class_of_.push_back(f == kNoFlow ? kNoFlow : class_of[f]);
        }
      }
    }
  }
  FlowClass flow_class(
      std::uint32_t f, std::uint32_t number,
      const std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>& together) const {
    FlowClass out;
    out.widest = widest_[f];
    out.limit = kMostCapacity;
    for (const LinkUse& u : uses(f)) {
      const FlowRate whole = capacity(u.link);
      out.limit = std::min(out.limit, whole * kWholeFlow / u.weight);
      const std::uint32_t l = class_of_link_[u.link];
      const bool fresh =
          std::ranges::none_of(out.uses, [l](const LinkUse& o) { return o.link == l; });
      if (l != kNoLink && fresh) out.uses.push_back({l, together.at({number, l})});
    }
    return out;
  }

  LinkLoads& out_;
  const Plan& plan_;
  const Cluster& cluster_;
  const Sites& sites_;
  const Network& network_;
  const std::vector<std::int64_t>& placement_;
  const std::vector<FlowKind>& kinds_;
  std::size_t stages_, positions_;
  std::vector<std::uint32_t> flow_of_;  // [kind][stage][position]
  std::vector<std::uint32_t> first_ = {0};
  std::vector<LinkUse> uses_;  // flow f's are first_[f] .. first_[f + 1] - 1, in order of its way
  std::vector<double> widest_;
  std::vector<Colour> flow_, link_, position_, incidence_;
  std::vector<std::uint32_t> class_of_link_;
  // while a flow is worked out
  std::vector<double> share_on_;
  std::vector<LinkId> crossed_, route_;
};

LinkLoads::LinkLoads(const Plan& plan, const Cluster& cluster, const Sites& sites,
                     const Network& network, const std::vector<std::int64_t>& placement,
                     const std::vector<FlowKind>& kinds, bool unfold)
    : stages_(static_cast<std::size_t>(plan.mesh[Axis::kPp])) {
  Folding(*this, plan, cluster, sites, network, placement, kinds).run(unfold);
}

}  // namespace plait
