#pragma once
// Time inside the engines: an integer number of picoseconds, so that sums are exact and associative
// and the same scenario gives the same bytes on every compiler and thread count. 2^63 ps is 106
// days, and nothing is counted beyond 100. Seconds become SimTime in one place only, `to_sim_time`.

#include <cstdint>
#include <string>

#include "core/quantity.h"

namespace plait {

using SimTime = std::int64_t;  // picoseconds

inline constexpr SimTime kPicosecondsPerSecond = 1'000'000'000'000;
inline constexpr SimTime kLongestTime = SimTime{100} * 24 * 3600 * kPicosecondsPerSecond;

constexpr Seconds to_seconds(SimTime t) { return Seconds(static_cast<double>(t) * 1e-12); }

/// Throws InputError (S199): `what` takes longer than is counted. `cure`: what would make it
/// shorter.
[[noreturn]] void refuse_time(const std::string& what, Seconds time, const std::string& cure = "");

/// Rounds to the nearest picosecond. Refuses what is longer than kLongestTime; throws InternalError
/// for a negative time and for what is no number.
SimTime to_sim_time(Seconds t);

// Of times of at most kLongestTime; refused where the result is longer.
SimTime counted_sum(SimTime a, SimTime b);
SimTime counted_product(std::int64_t times, SimTime t);
/// ceil(t * numerator / denominator).
SimTime scaled_up(SimTime t, std::int64_t numerator, std::int64_t denominator);

}  // namespace plait
