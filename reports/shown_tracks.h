#pragma once
// Which of the simulated ranks a picture of the timeline shows.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/timeline.h"

namespace plait {

/// Files of spans count in nanoseconds.
inline constexpr SimTime kPicosecondsPerNanosecond = 1000;

/// What tells a rank from others of its stage, in words: the name of its device where some have
/// others (`devices`, of each rank; empty: all are alike), with parameter servers its role; or "".
std::string kind_of_rank(const Plan& plan, const std::vector<std::string>& devices,
                         std::int64_t rank);

/// The tracks of `ranks`; without any, of each stage, and of each kind of its ranks, the one that
/// ends last. In order of rank.
/// Throws InputError G010 when one of the ranks is not the representative of a track,
/// G022 where there is no such rank.
std::vector<const Track*> shown_tracks(const Plan& plan, const Timeline& timeline,
                                       const std::vector<std::int64_t>& ranks,
                                       const std::vector<std::string>& devices);

}  // namespace plait
