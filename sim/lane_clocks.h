#pragma once
// Arithmetic on vectors of clocks, one element per lane: the inner loops of the unfolded sweep.

#include <algorithm>
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
void advance_each(SimTime* clock, const DurationRow& row, std::size_t lanes);
/// clock += row.
inline void advance(SimTime* clock, const DurationRow& row, std::size_t lanes) {
  if (lanes > 1) return advance_each(clock, row, lanes);
  *clock += *row.value;
}
/// to = from.
inline void set(SimTime* to, const SimTime* from, std::size_t lanes) {
  if (lanes > 1) {
    std::copy(from, from + lanes, to);
  } else {
    *to = *from;
  }
}
/// clock = max over the lane's group of clock: when the last member is ready.
void meet(SimTime* clock, const Grouping& groups, std::size_t lanes, SimTime* scratch);

}  // namespace plait
