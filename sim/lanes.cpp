#include "sim/lanes.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/error.h"

namespace plait {
namespace {

/// Positions of a stage; groups over the lane axes of one axis set.
struct PositionGroups {
  std::vector<std::uint32_t> group_of;  // per position
  std::uint32_t groups = 0;
};

AxisSet lane_axes(AxisSet axes) { return axes - Axis::kPp; }

PositionGroups groups_over(const Mesh& mesh, AxisSet axes) {
  PositionGroups out;
  const std::int64_t positions = mesh.world_size() / mesh[Axis::kPp];
  out.group_of.resize(static_cast<std::size_t>(positions));
  // The group's number: the position with the coordinates of `axes` squeezed out.
  for (std::int64_t p = 0; p < positions; ++p) {
    std::int64_t rest = p, scale = 1, number = 0;
    for (std::size_t i = kAxes; i-- > 1;) {
      const std::int64_t at = rest % mesh.size[i];
      rest /= mesh.size[i];
      if (axes.has(static_cast<Axis>(i))) continue;
      number += at * scale;
      scale *= mesh.size[i];
    }
    out.group_of[static_cast<std::size_t>(p)] = static_cast<std::uint32_t>(number);
    out.groups = std::max(out.groups, static_cast<std::uint32_t>(number + 1));
  }
  return out;
}

/// Renumbers keys by first appearance, so that colours do not depend on their values.
template <class Key>
std::vector<std::uint32_t> number(const std::vector<Key>& keys, std::size_t& count) {
  std::map<Key, std::uint32_t> known;
  std::vector<std::uint32_t> out;
  out.reserve(keys.size());
  for (const Key& k : keys) {
    out.push_back(known.emplace(k, static_cast<std::uint32_t>(known.size())).first->second);
  }
  count = known.size();
  return out;
}

class Refinement {
 public:
  Refinement(const Plan& plan, const Sites& sites)
      : plan_(plan), sites_(sites), positions_(static_cast<std::size_t>(plan.ranks_per_stage())) {}

  std::vector<std::uint32_t> colours() {
    if (uniform()) return std::vector<std::uint32_t>(positions_, 0);
    for (const AxisSites& a : sites_.axis_sets) {
      groups_.push_back(groups_over(plan_.mesh, lane_axes(a.axes)));
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
  void initial() {
    std::vector<std::vector<std::uint32_t>> keys(positions_);
    const std::int64_t stages = plan_.mesh[Axis::kPp];
    for (std::size_t p = 0; p < positions_; ++p) {
      const auto position = static_cast<std::int64_t>(p);
      for (std::int64_t s = 0; s < stages; ++s) {
        keys[p].push_back(sites_.factor.at(s, position));
        keys[p].push_back(sites_.kind.at(s, position));
        keys[p].push_back(sites_.role.at(s, position));
        if (stages > 1) keys[p].push_back(sites_.next.at(s, position));
        if (stages > 1) keys[p].push_back(sites_.previous.at(s, position));
        for (const AxisSites& a : sites_.axis_sets) keys[p].push_back(a.site.at(s, position));
      }
    }
    colour_ = number(keys, count_);
  }
  /// colour' = (colour, for each axis set the multiset of colours in the group).
  void refine() {
    std::vector<std::vector<std::uint32_t>> keys(positions_);
    for (std::size_t p = 0; p < positions_; ++p) keys[p] = {colour_[p]};
    for (const PositionGroups& g : groups_) {
      std::vector<std::vector<std::uint32_t>> members(g.groups);
      for (std::size_t p = 0; p < positions_; ++p) members[g.group_of[p]].push_back(colour_[p]);
      for (std::vector<std::uint32_t>& m : members) std::sort(m.begin(), m.end());
      std::size_t kinds = 0;
      const std::vector<std::uint32_t> kind = number(members, kinds);
      for (std::size_t p = 0; p < positions_; ++p) keys[p].push_back(kind[g.group_of[p]]);
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

Grouping group_lanes(const Mesh& mesh, const Lanes& lanes, AxisSet axes) {
  Grouping out;
  const bool unfolded = lanes.count() == lanes.lane_of.size();
  if (lanes.count() == 1) {
    out.group_of = {0}, out.groups = 1;
    return out;
  }
  const PositionGroups positions = groups_over(mesh, axes);
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
  if (unfolded) find_strides(mesh, axes, out);
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
  if (!unfold) return lanes_of(plan, sites, Refinement(plan, sites).colours());
  std::vector<std::uint32_t> lane_of(static_cast<std::size_t>(plan.ranks_per_stage()));
  std::iota(lane_of.begin(), lane_of.end(), 0U);
  return lanes_of(plan, sites, std::move(lane_of));
}

Lanes lanes_of(const Plan& plan, const Sites& sites, std::vector<std::uint32_t> lane_of) {
  Lanes lanes;
  lanes.lane_of = std::move(lane_of);
  for (std::size_t p = 0; p < lanes.lane_of.size(); ++p) {
    const std::size_t lane = lanes.lane_of[p];
    if (lane == lanes.count()) {
      lanes.representative.push_back(static_cast<std::int64_t>(p));
      lanes.multiplicity.push_back(0);
    }
    ++lanes.multiplicity[lane];
  }
  for (const AxisSites& a : sites.axis_sets) {
    lanes.groupings.push_back(group_lanes(plan.mesh, lanes, lane_axes(a.axes)));
    lanes.groupings.back().axes = a.axes, lanes.groupings.back().stages = a.stages;
  }
  return lanes;
}

}  // namespace plait
