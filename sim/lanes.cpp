#include "sim/lanes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>

#include "core/error.h"
#include "core/random.h"
#include "plan/places.h"
#include "sim/tracks.h"

namespace plait {
namespace {

/// Positions of a stage; groups over the lane axes of one axis set.
struct PositionGroups {
  std::vector<std::uint32_t> group_of;  // per position
  std::uint32_t groups = 0;
};

AxisSet lane_axes(AxisSet axes) { return axes - Axis::kPp; }

PositionGroups groups_over(const Mesh& mesh, AxisSet axes) {
  PositionGroups out = {{0}, 1};
  out.group_of.reserve(static_cast<std::size_t>(mesh.world_size() / mesh[Axis::kPp]));
  // The group's number: the position with the coordinates of `axes` squeezed out. From the
  // innermost axis on, each place along the next one repeats the positions within it.
  for (std::size_t i = kAxes; i-- > 1;) {
    const bool squeezed = axes.has(static_cast<Axis>(i));
    const std::size_t inner = out.group_of.size();
    const auto places = static_cast<std::uint32_t>(mesh.size[i]);
    for (std::uint32_t at = 1; at < places; ++at) {
      const std::uint32_t first = squeezed ? 0 : at * out.groups;
      for (std::size_t p = 0; p < inner; ++p) out.group_of.push_back(first + out.group_of[p]);
    }
    if (!squeezed) out.groups *= places;
  }
  return out;
}

/// Positions that one rank has in a stage.
PositionGroups groups_of_ranks(const Plan& plan, std::int64_t stage) {
  const std::int64_t each = places_of_a_rank(plan, stage);
  PositionGroups out;
  for (std::int64_t p = 0; p < plan.places_per_stage(); ++p) {
    out.group_of.push_back(static_cast<std::uint32_t>(p / each));
  }
  out.groups = out.group_of.back() + 1;
  return out;
}

/// Rows of numbers, all of one width, one after the other.
struct Rows {
  Rows(std::size_t count, std::size_t row_width)
      : width(row_width), values(count * row_width), count_(count) {}
  std::span<std::uint32_t> row(std::size_t i) { return {values.data() + i * width, width}; }
  std::span<const std::uint32_t> row(std::size_t i) const {
    return {values.data() + i * width, width};
  }
  std::size_t count() const { return count_; }

  std::size_t width;
  std::vector<std::uint32_t> values;

 private:
  std::size_t count_;
};

/// Numbers rows by first appearance, so that colours do not depend on their values.
std::vector<std::uint32_t> number(const Rows& rows, std::size_t& count) {
  const auto hash = [&rows](std::size_t i) {
    std::uint64_t h = 0;
    for (const std::uint32_t v : rows.row(i)) h = scramble(h ^ v);
    return static_cast<std::size_t>(h);
  };
  const auto same = [&rows](std::size_t a, std::size_t b) {
    return std::ranges::equal(rows.row(a), rows.row(b));
  };
  std::unordered_map<std::size_t, std::uint32_t, decltype(hash), decltype(same)> known(16, hash,
                                                                                       same);
  std::vector<std::uint32_t> out;
  out.reserve(rows.count());
  for (std::size_t i = 0; i < rows.count(); ++i) {
    // Neighbours mostly are the same.
    const bool again = i > 0 && same(i, i - 1);
    const auto fresh = static_cast<std::uint32_t>(known.size());
    out.push_back(again ? out.back() : known.emplace(i, fresh).first->second);
  }
  count = known.size();
  return out;
}

class Refinement {
 public:
  Refinement(const Plan& plan, const Sites& sites)
      : plan_(plan), sites_(sites), positions_(static_cast<std::size_t>(plan.places_per_stage())) {}

  std::vector<std::uint32_t> colours() {
    if (uniform()) return std::vector<std::uint32_t>(positions_, 0);
    for (const AxisSites& a : sites_.axis_sets) {
      groups_.push_back(groups_over(plan_.mesh, lane_axes(a.axes)));
    }
    for (std::size_t s = 0; s < plan_.stage_tp.size(); ++s) {
      groups_.push_back(groups_of_ranks(plan_, static_cast<std::int64_t>(s)));
    }
    initial();
    for (std::size_t before = 0; before != count_;) {
      before = count_;
      refine();
    }
    return colour_;
  }

 private:
  bool uniform() const {
    return sites_.factor.uniform_in_stages() && sites_.kind.uniform_in_stages() &&
           sites_.role.uniform_in_stages() && sites_.next.uniform_in_stages() &&
           sites_.previous.uniform_in_stages() &&
           std::all_of(sites_.axis_sets.begin(), sites_.axis_sets.end(),
                       [](const AxisSites& a) { return a.site.uniform_in_stages(); });
  }
  /// By all that differs between positions.
  void initial() {
    std::vector<const SiteMap*> maps;
    const auto add = [&maps](const SiteMap& map) {
      if (!map.uniform_in_stages()) maps.push_back(&map);
    };
    add(sites_.factor), add(sites_.kind), add(sites_.role);
    add(sites_.next), add(sites_.previous);
    for (const AxisSites& a : sites_.axis_sets) add(a.site);
    const auto stages = static_cast<std::size_t>(plan_.mesh[Axis::kPp]);
    Rows keys(positions_, maps.size() * stages);
    for (std::size_t p = 0; p < positions_; ++p) {
      auto at = keys.row(p).begin();
      for (const SiteMap* map : maps) {
        for (std::size_t s = 0; s < stages; ++s) {
          *at++ = map->at(static_cast<std::int64_t>(s), static_cast<std::int64_t>(p));
        }
      }
    }
    colour_ = number(keys, count_);
  }
  /// colour' = (colour, for each axis set the multiset of colours in the group).
  void refine() {
    Rows keys(positions_, 1 + groups_.size());
    for (std::size_t p = 0; p < positions_; ++p) keys.row(p)[0] = colour_[p];
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const PositionGroups& g = groups_[i];
      Rows members(g.groups, positions_ / g.groups);
      std::vector<std::size_t> filled(g.groups);
      for (std::size_t p = 0; p < positions_; ++p) {
        members.row(g.group_of[p])[filled[g.group_of[p]]++] = colour_[p];
      }
      for (std::size_t m = 0; m < members.count(); ++m) {
        if (!std::ranges::is_sorted(members.row(m))) std::ranges::sort(members.row(m));
      }
      std::size_t kinds = 0;
      const std::vector<std::uint32_t> kind = number(members, kinds);
      for (std::size_t p = 0; p < positions_; ++p) keys.row(p)[1 + i] = kind[g.group_of[p]];
    }
    colour_ = number(keys, count_);
  }

  const Plan& plan_;
  const Sites& sites_;
  std::size_t positions_, count_ = 0;
  std::vector<PositionGroups> groups_;
  std::vector<std::uint32_t> colour_;
};

/// {outer, members, inner} when the axes above size 1 are adjacent in the mesh.
void find_strides(const Mesh& mesh, AxisSet axes, Grouping& g) {
  std::int64_t outer = 1, members = 1, inner = 1;
  for (std::size_t i = 1; i < kAxes; ++i) {
    const std::int64_t n = mesh.size[i];
    if (n == 1) continue;
    const bool in = axes.has(static_cast<Axis>(i));
    if (in && inner > 1) return;  // an axis outside lies between
    if (in)
      members *= n;
    else if (members > 1)
      inner *= n;
    else
      outer *= n;
  }
  g.outer = outer, g.members = members, g.inner = inner;
}

/// Lanes that meet where positions do.
Grouping group_lanes(const Lanes& lanes, const PositionGroups& positions) {
  Grouping out;
  // In an equitable partition a lane's positions all sit in groups of the same lanes, so the lanes
  // met in the representative's group are those of any. Lanes that meet share a number.
  std::vector<std::vector<std::uint32_t>> lanes_of(positions.groups);
  for (std::size_t p = 0; p < positions.group_of.size(); ++p) {
    lanes_of[positions.group_of[p]].push_back(lanes.lane_of[p]);
  }
  for (std::vector<std::uint32_t>& l : lanes_of) {
    std::sort(l.begin(), l.end());
    l.erase(std::unique(l.begin(), l.end()), l.end());
  }
  std::map<std::vector<std::uint32_t>, std::uint32_t> known;
  for (std::int64_t r : lanes.representative) {
    const std::vector<std::uint32_t>& key =
        lanes_of[positions.group_of[static_cast<std::size_t>(r)]];
    out.group_of.push_back(
        known.emplace(key, static_cast<std::uint32_t>(known.size())).first->second);
  }
  out.groups = static_cast<std::uint32_t>(known.size());
  return out;
}

Grouping group_lanes(const Mesh& mesh, const Lanes& lanes, AxisSet axes) {
  Grouping out;
  if (lanes.count() == 1) {
    out.group_of = {0}, out.groups = 1;
    return out;
  }
  out = group_lanes(lanes, groups_over(mesh, axes));
  const bool unfolded = lanes.count() == lanes.lane_of.size();
  if (unfolded) find_strides(mesh, axes, out);
  return out;
}

/// Lane of each position, renumbered.
std::vector<std::uint32_t> slowest_first(const Plan& plan, const Sites& sites, const Lanes& lanes) {
  std::vector<double> factor;  // of the slowest device in any stage
  for (const std::int64_t position : lanes.representative) {
    double most = 0;
    for (std::int64_t s = 0; s < plan.mesh[Axis::kPp]; ++s) {
      most = std::max(most, sites.factors[sites.factor.at(s, position)]);
    }
    factor.push_back(most);
  }
  std::vector<std::uint32_t> order(lanes.count()), number(lanes.count());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t l) { return factor[l]; });
  for (std::uint32_t i = 0; i < order.size(); ++i) number[order[i]] = i;
  std::vector<std::uint32_t> out = lanes.lane_of;
  for (std::uint32_t& lane : out) lane = number[lane];
  return out;
}

}  // namespace

std::size_t Lanes::grouping(const Collective& c) const {
  for (std::size_t i = 0; i < groupings.size(); ++i) {
    if (groupings[i].axes == c.axes && groupings[i].stages == c.stages) return i;
  }
  PLAIT_CHECK(false, "a collective over axes that were not placed");
  return 0;
}

Lanes fold(const Plan& plan, const Sites& sites, bool unfold) {
  if (!unfold) {
    Lanes lanes = lanes_of(plan, sites, Refinement(plan, sites).colours());
    const bool single = lanes.count() == lanes.lane_of.size();  // quick groups go by position
    if (single || lanes.count() <= most_recorded(plan)) return lanes;
    return lanes_of(plan, sites, slowest_first(plan, sites, lanes));
  }
  std::vector<std::uint32_t> lane_of(static_cast<std::size_t>(plan.places_per_stage()));
  std::iota(lane_of.begin(), lane_of.end(), 0U);
  return lanes_of(plan, sites, std::move(lane_of));
}

Lanes lanes_of(const Plan& plan, const Sites& sites, std::vector<std::uint32_t> lane_of) {
  Lanes lanes;
  lanes.lane_of = std::move(lane_of);
  for (std::size_t p = 0; p < lanes.lane_of.size(); ++p) {
    const std::size_t lane = lanes.lane_of[p];
    if (lane >= lanes.count()) {
      lanes.representative.resize(lane + 1);
      lanes.multiplicity.resize(lane + 1);
    }
    if (lanes.multiplicity[lane]++ == 0) lanes.representative[lane] = static_cast<std::int64_t>(p);
  }
  for (const AxisSites& a : sites.axis_sets) {
    lanes.groupings.push_back(group_lanes(plan.mesh, lanes, lane_axes(a.axes)));
    lanes.groupings.back().axes = a.axes, lanes.groupings.back().stages = a.stages;
  }
  for (std::size_t s = 0; lanes.count() > 1 && s < plan.stage_tp.size(); ++s) {
    lanes.shared.push_back(group_lanes(lanes, groups_of_ranks(plan, static_cast<std::int64_t>(s))));
  }
  return lanes;
}

}  // namespace plait
