#include "sim/tracks.h"

#include <algorithm>

#include "plan/places.h"

namespace plait {
namespace {
constexpr std::size_t kMostSpans = 1U << 22;  // recorded at most: 64 MiB

/// Ranks of the stage whose first place is of the lane.
std::int64_t ranks_in_lane(const Plan& plan, const Lanes& lanes, std::int64_t stage,
                           std::size_t lane) {
  const std::int64_t each = places_of_a_rank(plan, stage);
  if (each == 1) return lanes.multiplicity[lane];
  std::int64_t n = 0;
  for (std::size_t p = 0; p < lanes.lane_of.size(); p += static_cast<std::size_t>(each)) {
    n += lanes.lane_of[p] == lane ? 1 : 0;
  }
  return n;
}
}  // namespace

std::size_t most_recorded(const Plan& plan) {
  std::size_t per_lane = 0;
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    per_lane += static_cast<std::size_t>(op_count(plan, s));
  }
  return std::max<std::size_t>(1, kMostSpans / (per_lane + 1));
}

std::vector<Track> empty_tracks(const Plan& plan, const Lanes& lanes) {
  const std::size_t recorded = std::min(lanes.count(), most_recorded(plan));
  std::vector<Track> out;
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    const auto spans = static_cast<std::size_t>(op_count(plan, s));
    for (std::size_t l = 0; l < recorded; ++l) {
      Track t;
      t.stage = static_cast<std::int64_t>(s);
      t.rank = rank_at(plan, t.stage * plan.places_per_stage() + lanes.representative[l]);
      t.multiplicity = ranks_in_lane(plan, lanes, t.stage, l);
      t.start.resize(spans), t.end.resize(spans);
      out.push_back(std::move(t));
    }
  }
  return out;
}

}  // namespace plait
