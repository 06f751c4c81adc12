#include "search/rank_order.h"

#include <algorithm>
#include <iterator>

namespace plait {
namespace {

/// From the inside out.
constexpr std::array kInner = {Axis::kEtp, Axis::kTp, Axis::kEp, Axis::kUlysses, Axis::kCp};

std::int64_t size_of(const Layout& l, Axis axis) {
  switch (axis) {
    case Axis::kFsdp: return l.fsdp;
    case Axis::kDp: return l.dp;
    default: return l.pp;
  }
}

/// The inner axes first, as far as they are named, as the mesh has them.
bool begins_as_mesh(const std::vector<Axis>& order) {
  std::vector<Axis> expected;
  std::ranges::copy_if(kInner, std::back_inserter(expected),
                       [&](Axis a) { return std::ranges::find(order, a) != order.end(); });
  return std::ranges::mismatch(expected, order).in1 == expected.end();
}

}  // namespace

RankOrder::RankOrder(const Scenario& s) {
  const std::vector<Axis>& order = s.placement_rule.order;
  if (order.empty()) {
    known_ = s.placement.empty() && !s.placement_rule.any();
    return;
  }
  known_ = begins_as_mesh(order);
  // Axes that are not named have one rank, wherever they stand.
  std::ranges::stable_sort(outer_, {},
                           [&](Axis a) { return std::ranges::find(order, a) - order.begin(); });
}

std::int64_t RankOrder::stride(const Layout& l, Axis axis) const {
  std::int64_t out = std::int64_t{l.tp} * l.ep * l.cp;
  for (const Axis inside : outer_) {
    if (inside == axis) break;
    out *= size_of(l, inside);
  }
  return out;
}

}  // namespace plait
