#pragma once
// Time inside the engines: an integer number of picoseconds, so that sums are exact and associative
// and the same scenario gives the same bytes on every compiler and thread count. 2^63 ps is 106
// days. Seconds become SimTime in one place only, `to_sim_time`.

#include <cstdint>

#include "core/quantity.h"

namespace plait {

using SimTime = std::int64_t;  // picoseconds

inline constexpr SimTime kPicosecondsPerSecond = 1'000'000'000'000;

/// Rounds to the nearest picosecond. Throws InternalError for a negative, non-finite or > 100 day
/// time.
SimTime to_sim_time(Seconds t);

constexpr Seconds to_seconds(SimTime t) { return Seconds(static_cast<double>(t) * 1e-12); }

}  // namespace plait
