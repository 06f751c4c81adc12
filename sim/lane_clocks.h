#pragma once
// Arithmetic on vectors of clocks, one element per lane: the inner loops of the unfolded sweep.

#include <cstddef>

#include "core/time.h"
#include "sim/durations.h"
#include "sim/lanes.h"

namespace plait {

void raise_each(SimTime* to, const SimTime* from, std::size_t lanes);
/// to = max(to, from), element-wise.
inline void raise(SimTime* to, const SimTime* from, std::size_t lanes) {
  if (lanes > 1) return raise_each(to, from, lanes);
  if (*from > *to) *to = *from;
}
/// clock += row.
void advance(SimTime* clock, const DurationRow& row, std::size_t lanes);
/// clock = max over the lane's group of clock: when the last member is ready.
void meet(SimTime* clock, const Grouping& groups, std::size_t lanes, SimTime* scratch);

}  // namespace plait
