#pragma once
// Repeats something until its time is known.

#include <cstdint>
#include <functional>
#include <vector>

#include "model/measurement.h"

namespace plait {

struct Timed {
  std::int64_t repeats = 0, calls = 0;  // `calls` are timed together in each repeat
  Spread wall, cpu;                     // of one call
  std::int64_t switches = 0;            // involuntary
};

/// How long one measurement may take, and how long a repeat has to be at least: reading the
/// processor time of a thread is a system call of about 0.3 us.
struct TimingOptions {
  double seconds = 0.06;
  double least_repeat_s = 100e-6;
  std::int64_t least_repeats = 5, most_repeats = 25;
};

/// After one call that does not count. Each call should work on memory that is not in the caches.
Timed time_calls(const std::function<void()>& call, const TimingOptions& options);

/// p10 and p90 are the nearest ranks. `values` is not empty.
Spread spread_of(std::vector<double> values);

}  // namespace plait
