#include "sim/sites.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "core/error.h"
#include "topologies/graph.h"
#include "topologies/placement.h"
#include "topologies/variation.h"

namespace plait {
namespace {

bool same(const Path& a, const Path& b) {
  return std::tie(a.link, a.bandwidth, a.latency, a.hops) ==
         std::tie(b.link, b.bandwidth, b.latency, b.hops);
}
bool same(const PeerPath& a, const PeerPath& b) {
  return same(a.all, b.all) && same(a.alone, b.alone);
}
bool same(const GroupPlacement& a, const GroupPlacement& b) {
  return std::tie(a.ranks, a.nodes, a.ranks_per_node, a.fewest_per_node, a.in_switch_reduction,
                  a.kind) == std::tie(b.ranks, b.nodes, b.ranks_per_node, b.fewest_per_node,
                                      b.in_switch_reduction, b.kind) &&
         same(a.intra, b.intra) && same(a.intra_alone, b.intra_alone) &&
         same(a.intra_exchange, b.intra_exchange) &&
         same(a.intra_exchange_alone, b.intra_exchange_alone) && same(a.inter, b.inter) &&
         same(a.inter_alone, b.inter_alone) && same(a.exchange, b.exchange) &&
         same(a.exchange_alone, b.exchange_alone);
}

template <class T>
std::uint32_t intern(std::vector<T>& known, const T& value) {
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (same(known[i], value)) return static_cast<std::uint32_t>(i);
  }
  known.push_back(value);
  return static_cast<std::uint32_t>(known.size() - 1);
}

class Locator {
 public:
  Locator(const Plan& plan, const Cluster& cluster, const std::vector<std::int64_t>& placement)
      : plan_(plan),
        cluster_(cluster),
        placement_(placement),
        positions_(plan.places_per_stage()),
        stages_(plan.mesh[Axis::kPp]),
        period_(symmetry_period(cluster)),
        run_(placement.empty() ? cluster.graph->run() : 0) {}

  Sites run() {
    find_axis_sets();
    for (AxisSites& a : sites_.axis_sets) a.site = place(a);
    if (stages_ > 1) sites_.next = neighbours(1), sites_.previous = neighbours(-1);
    tell_kinds();
    slow_down();
    tell_roles();
    return std::move(sites_);
  }

 private:
  void find_axis_sets() {
    for (const Block& block : plan_.blocks) {
      for (const Op& op : block.ops) {
        const Collective* c = std::get_if<Collective>(&op.body);
        if (c == nullptr) continue;
        const auto known = [c](const AxisSites& a) {
          return a.axes == c->axes && a.stages == c->stages;
        };
        auto& sets = sites_.axis_sets;
        if (std::none_of(sets.begin(), sets.end(), known)) sets.push_back({c->axes, c->stages, {}});
      }
    }
  }
  std::int64_t device(std::int64_t rank) const { return device_of(rank, placement_); }
  /// With ranks on devices in order, groups that start at the same place within a period look
  /// alike.
  std::int64_t phase(std::int64_t rank) const { return placement_.empty() ? rank % period_ : rank; }

  std::vector<std::int64_t> devices_of(std::int64_t rank, const AxisSites& a) const {
    std::vector<std::int64_t> ranks = members(plan_.mesh, rank, a.axes, a.stages);
    for (std::int64_t& r : ranks) r = device(r);
    if (!plan_.stage_tp.empty()) ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  }
  /// The first positions of groups, up to `end`: their coordinates in the axes are zero.
  std::vector<std::int64_t> origins(AxisSet axes, std::int64_t end) const {
    std::vector<std::int64_t> out = {0};
    std::int64_t scale = 1;
    for (std::size_t i = kAxes; i-- > 1 && scale < end; scale *= plan_.mesh.size[i]) {
      if (axes.has(static_cast<Axis>(i))) continue;
      const std::size_t inner = out.size();
      for (std::int64_t at = 1; at < plan_.mesh.size[i]; ++at) {
        for (std::size_t k = 0; k < inner; ++k) out.push_back(out[k] + at * scale);
      }
    }
    return out;
  }
  std::int64_t origin(std::int64_t position, AxisSet axes) const {
    std::int64_t at = position, scale = 1, out = 0;
    for (std::size_t i = kAxes; i-- > 1;) {
      const std::int64_t n = plan_.mesh.size[i];
      if (!axes.has(static_cast<Axis>(i))) out += at % n * scale;
      at /= n, scale *= n;
    }
    return out;
  }

  /// Sites by a small key.
  class Known {
   public:
    explicit Known(std::int64_t keys) : site_(static_cast<std::size_t>(keys), kNone) {}
    template <class Find>
    std::uint32_t at(std::int64_t key, Find&& find) {
      const auto i = static_cast<std::size_t>(key);
      if (i >= site_.size()) site_.resize(i + 1, kNone);
      std::uint32_t& site = site_[i];
      if (site == kNone) site = find();
      return site;
    }

   private:
    static constexpr std::uint32_t kNone = 0xFFFFFFFF;
    std::vector<std::uint32_t> site_;
  };
  std::int64_t phases() const { return placement_.empty() ? period_ : plan_.mesh.world_size(); }

  SiteMap place(const AxisSites& a) {
    const bool across = a.axes.has(Axis::kPp);
    const std::int64_t per_node = cluster_.devices_per_node, reach = extent(a.axes);
    Known by_phase(phases()), within_run(per_node);
    const auto meeting = [&](std::int64_t s) {
      return std::max<std::int64_t>(0, first_of_meeting(a.stages, s, stages_));
    };
    const auto site = [&](std::int64_t stage, std::int64_t position) {
      const std::int64_t first = (across ? meeting(stage) : stage) * positions_ + position;
      const auto find = [&] {
        return intern(sites_.groups, place_group(cluster_, devices_of(first, a)));
      };
      // Groups of mirrored stages are the wider the nearer they are to the ends.
      if (a.stages == Stages::kMirrored) return find();
      // Groups inside a run of nodes that are alike look the same from the same place of a node.
      const bool inside = run_ > 0 && first % run_ + reach < run_;
      return inside ? within_run.at(first % per_node, find) : by_phase.at(phase(first), find);
    };
    const auto row = [&](std::int64_t s) { return across ? meeting(s) : s % cycle(); };
    return tabulate(a.axes - Axis::kPp, row, site, [](std::int64_t, std::int64_t) { return 1; });
  }
  SiteMap neighbours(std::int64_t offset) {
    // Stages differ by their phase, and by whether their neighbour is around the corner.
    const std::int64_t corner = offset > 0 ? stages_ - 1 : 0;
    const Graph& g = *cluster_.graph;
    const std::int64_t n = g.size();
    const bool by_closeness = placement_.empty() && !g.uneven() && g.cabling != nullptr;
    const auto peer_of = [&](std::int64_t stage, std::int64_t position) {
      return (stage + offset + stages_) % stages_ * positions_ + position;
    };
    const auto close = [&](std::int64_t rank, std::int64_t peer) -> std::int64_t {
      return rank / n == peer / n ? 0 : 1 + g.cabling->closeness(rank / n, peer / n);
    };
    Known straight(by_closeness ? 0 : phases()), around(by_closeness ? 0 : phases());
    const auto site = [&](std::int64_t stage, std::int64_t position) {
      const std::int64_t rank = stage * positions_ + position;
      const std::int64_t peer = peer_of(stage, position);
      const auto find = [&] { return intern(sites_.paths, peer_path(rank, peer)); };
      Known& known = stage == corner ? around : straight;
      if (!by_closeness) return known.at(phase(rank), find);
      // From one place to another, equally close, routes are the same.
      return known.at(close(rank, peer) * n + rank % n, find);
    };
    // All ranks of a node go the same way, or not, to whichever node is as close.
    std::map<std::int64_t, bool> one_way;
    const auto alike = [&](std::int64_t stage, std::int64_t position) -> std::int64_t {
      if (!by_closeness || positions_ % n != 0 || position % n != 0) return 1;
      const std::int64_t rank = stage * positions_ + position;
      const auto [at, fresh] = one_way.try_emplace(close(rank, peer_of(stage, position)), true);
      for (std::int64_t k = 1; fresh && k < n; ++k) {
        at->second = at->second && site(stage, position + k) == site(stage, position);
      }
      return at->second ? n : 1;
    };
    const auto row = [&](std::int64_t s) {
      if (s == corner) return s;
      return offset > 0 ? s % cycle() : (s - 1) % cycle() + 1;
    };
    return tabulate({}, row, site, alike);
  }
  PeerPath peer_path(std::int64_t rank, std::int64_t peer) const {
    std::vector<std::int64_t> pipeline;
    for (std::int64_t s = 0; s < stages_; ++s)
      pipeline.push_back(device(s * positions_ + rank % positions_));
    return route_to_peer(cluster_, device(rank), device(peer), pipeline, positions_);
  }
  /// Distance in rank from a group's first member to its last.
  std::int64_t extent(AxisSet axes) const {
    std::int64_t out = 0;
    for (std::size_t i = 0; i < kAxes; ++i) {
      const Axis axis = static_cast<Axis>(i);
      if (axes.has(axis)) out += (plan_.mesh[axis] - 1) * plan_.mesh.stride(axis);
    }
    return out;
  }
  /// Stages that are so many apart start at the same place within a period of the machine.
  std::int64_t cycle() const {
    return placement_.empty() ? period_ / std::gcd(period_, positions_) : stages_;
  }
  /// Positions that repeat: the innermost axes that together fill whole periods of the machine.
  /// Beyond them a group or peer only moves by whole periods.
  std::int64_t repeating_positions() const {
    if (!placement_.empty()) return positions_;
    std::int64_t inner = 1;
    for (std::size_t i = kAxes; i-- > 1 && inner % period_ != 0;) inner *= plan_.mesh.size[i];
    return inner % period_ == 0 ? inner : positions_;
  }
  /// site(stage, position) for all. Worked out for first positions of groups over `axes` only, for
  /// the positions that repeat, and for stages that are their own `row`: others look like that one.
  /// alike(stage, position): so many of the next first positions have the same site.
  template <class RowOf, class Site, class Alike>
  SiteMap tabulate(AxisSet axes, RowOf&& row, Site&& site, Alike&& alike) {
    const std::int64_t distinct = repeating_positions();
    const std::vector<std::int64_t> firsts = origins(axes, distinct);
    std::vector<std::vector<std::uint32_t>> values(static_cast<std::size_t>(stages_));
    const std::uint32_t first = site(0, 0);
    bool uniform = true;
    for (std::int64_t s = 0; s < stages_; ++s) {
      if (row(s) != s) continue;
      std::vector<std::uint32_t>& mine = values[static_cast<std::size_t>(s)];
      while (mine.size() < firsts.size()) {
        const std::int64_t p = firsts[mine.size()];
        const std::uint32_t value = site(s, p);
        mine.insert(mine.end(), static_cast<std::size_t>(alike(s, p)), value);
        uniform = uniform && value == first;
      }
    }
    if (uniform) return SiteMap({first}, stages_, positions_);
    return SiteMap(spread(axes, row, firsts, values), stages_, positions_);
  }
  /// One value per stage if that says it all, else one per stage and position. `values`: of the
  /// first positions of groups.
  template <class RowOf>
  std::vector<std::uint32_t> spread(AxisSet axes, RowOf&& row,
                                    const std::vector<std::int64_t>& firsts,
                                    const std::vector<std::vector<std::uint32_t>>& values) const {
    std::vector<std::uint32_t> by_stage, all;
    bool flat = true;
    for (std::int64_t s = 0; s < stages_; ++s) {
      const std::vector<std::uint32_t>& mine = values[static_cast<std::size_t>(row(s))];
      by_stage.push_back(mine[0]);
      flat = flat && std::ranges::count(mine, mine[0]) == std::ssize(mine);
    }
    if (flat) return by_stage;
    std::vector<std::size_t> group(static_cast<std::size_t>(repeating_positions()));
    for (std::size_t p = 0; p < group.size(); ++p) {
      const std::int64_t first = origin(static_cast<std::int64_t>(p), axes);
      group[p] = static_cast<std::size_t>(std::ranges::lower_bound(firsts, first) - firsts.begin());
    }
    for (std::int64_t s = 0; s < stages_; ++s) {
      const std::vector<std::uint32_t>& mine = values[static_cast<std::size_t>(row(s))];
      for (std::size_t p = 0; p < static_cast<std::size_t>(positions_); ++p) {
        all.push_back(mine[group[p % group.size()]]);
      }
    }
    return all;
  }
  void tell_kinds() {
    if (cluster_.others.empty()) return;
    std::vector<std::uint32_t> kinds;
    for (std::int64_t r = 0; r < plan_.mesh.world_size(); ++r) {
      kinds.push_back(static_cast<std::uint32_t>(cluster_.kind_of(device(r))));
    }
    sites_.kind = SiteMap(std::move(kinds), stages_, positions_);
  }
  void slow_down() {
    sites_.factors = {1.0};
    sites_.factor = SiteMap({0}, stages_, positions_);
    if (cluster_.slowdowns.empty() && cluster_.jitter == 0) return;
    const std::int64_t world = plan_.mesh.world_size();
    std::vector<std::uint32_t> index(static_cast<std::size_t>(world), 0);
    std::map<double, std::uint32_t> known = {{1.0, 0}};
    for (std::int64_t r = 0; r < world; ++r) {
      const double f = slowdown_of(cluster_, device(r));
      const auto [at, fresh] = known.emplace(f, static_cast<std::uint32_t>(sites_.factors.size()));
      if (fresh) sites_.factors.push_back(f);
      index[static_cast<std::size_t>(r)] = at->second;
    }
    sites_.factor = SiteMap(std::move(index), stages_, positions_);
  }
  void tell_roles() {
    if (!plan_.servers.any()) return;
    std::vector<std::uint32_t> roles;
    for (std::int64_t r = 0; r < plan_.mesh.world_size(); ++r) {
      const Role role = role_of(plan_, r);
      const auto found = std::ranges::find(sites_.roles, role);
      roles.push_back(static_cast<std::uint32_t>(found - sites_.roles.begin()));
      if (found == sites_.roles.end()) sites_.roles.push_back(role);
    }
    sites_.role = SiteMap(std::move(roles), stages_, positions_);
  }

  const Plan& plan_;
  const Cluster& cluster_;
  const std::vector<std::int64_t>& placement_;
  std::int64_t positions_, stages_, period_;
  std::int64_t run_;  // Graph::run; 0 too with ranks out of order
  Sites sites_;
};

}  // namespace

SiteMap::SiteMap(std::vector<std::uint32_t> values, std::int64_t stages, std::int64_t positions)
    : values_(std::move(values)) {
  const auto n = static_cast<std::int64_t>(values_.size());
  PLAIT_CHECK(n == 1 || n == stages || n == stages * positions, "a site map of the wrong size");
  if (n == 1) return;
  stage_step_ = n / stages;
  position_step_ = n == stages ? 0 : 1;
}

Sites locate(const Plan& plan, const Cluster& cluster, const std::vector<std::int64_t>& placement) {
  return Locator(plan, cluster, placement).run();
}

}  // namespace plait
