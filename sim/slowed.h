#pragma once
// Which collective slowed a kernel down (holdings.h).

#include <cstdint>
#include <vector>

#include "plan/timeline.h"
#include "sim/causes.h"
#include "sim/durations.h"

namespace plait {

/// Per flat op of the track, which is of `lane`: for a kernel that took longer than alone, the
/// collective that kept most multiprocessors times time of it; else kNoCause. Ties go to the one
/// that was issued first.
std::vector<std::uint32_t> slowed_by(const Plan& plan, const Durations& durations,
                                     const Track& track, std::size_t lane,
                                     const std::vector<OpSite>& ops);

}  // namespace plait
