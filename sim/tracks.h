#pragma once
// Empty tracks for a recorded simulation.

#include <vector>

#include "plan/plan.h"
#include "plan/timeline.h"
#include "sim/lanes.h"

namespace plait {

/// So many lanes of the plan's stages may be recorded, at least one.
std::size_t most_recorded(const Plan& plan);

/// Stage-major, lane-minor, all spans zero; the same first lanes of every stage, as many as a
/// recording may have.
std::vector<Track> empty_tracks(const Plan& plan, const Lanes& lanes);

}  // namespace plait
