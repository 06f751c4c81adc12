#pragma once
// Arithmetic on vectors of clocks, one element per lane: the inner loops of the unfolded sweep.

#include <cstddef>

#include "core/time.h"
#include "sim/durations.h"
#include "sim/lanes.h"

namespace plait {

/// to = max(to, from), element-wise.
void raise(SimTime* to, const SimTime* from, std::size_t lanes);
/// clock += row.
void advance(SimTime* clock, const Row& row, std::size_t lanes);
/// clock = max over the lane's group of clock: when the last member is ready.
void meet(SimTime* clock, const Grouping& groups, std::size_t lanes, SimTime* scratch);

}  // namespace plait
