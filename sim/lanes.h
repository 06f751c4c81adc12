#pragma once
// Rank classes. All ranks of one stage run the same program; a *lane* is a class of positions
// within a stage (of coordinates other than pp) whose ranks behave alike in every stage. Stages
// times lanes are the rank classes that the engine walks; one lane may stand for one position or
// for all of them.
//
// Given: for each position its colour, i.e. the slow-down of its devices and the placement of its
// groups and peers in every stage. Computed: the coarsest equitable partition, i.e. positions of
// one lane have, in each group of each axis set, partners from the same lanes in the same numbers
// (colour refinement). Then equal lanes have equal times, by induction over the ops, and folding is
// exact.

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "sim/sites.h"

namespace plait {

/// Which lanes meet in a collective over an axis set: those with the same group number.
struct Grouping {
  AxisSet axes;
  Stages stages = Stages::kAll;
  std::vector<std::uint32_t> group_of;  // per lane
  std::uint32_t groups = 0;
  // Where lanes are single positions and the axes are adjacent, a group is {outer, *, inner}.
  std::int64_t outer = 0, members = 0, inner = 0;
  bool strided() const { return members > 0; }
};

struct Lanes {
  std::vector<std::uint32_t> lane_of;        // per position
  std::vector<std::int64_t> representative;  // per lane: its first position
  std::vector<std::int64_t> multiplicity;    // per lane: positions it stands for
  std::vector<Grouping> groupings;           // per axis set of `Sites`
  /// Per stage: lanes of places that one rank has, where ranks have several and there is more than
  /// one lane (plan/places.h); else none.
  std::vector<Grouping> shared;
  std::size_t count() const { return representative.size(); }
  /// Index of the grouping that the collective needs.
  std::size_t grouping(const Collective& c) const;
};

/// Numbered by first appearance; where lanes that fold positions are more than can be recorded
/// (tracks.h), by their devices, the slowest first: those are what the others wait for.
Lanes fold(const Plan& plan, const Sites& sites, bool unfold);

/// The lanes of a partition that is equitable already: lane of each position, numbered from 0.
Lanes lanes_of(const Plan& plan, const Sites& sites, std::vector<std::uint32_t> lane_of);

}  // namespace plait
