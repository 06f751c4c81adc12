#pragma once
// Which of the simulated ranks a picture of the timeline shows.

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "plan/timeline.h"

namespace plait {

/// Files of spans count in nanoseconds.
inline constexpr SimTime kPicosecondsPerNanosecond = 1000;

/// The tracks of `ranks`; without any, of each stage the track that ends last. In order of rank.
/// Throws InputError G010 when one of the ranks is not the representative of a track,
/// G022 where there is no such rank.
std::vector<const Track*> shown_tracks(const Plan& plan, const Timeline& timeline,
                                       const std::vector<std::int64_t>& ranks);

}  // namespace plait
