#pragma once
// Collectives back to back, as nccl-tests times them.

#include <cstdint>

#include "plan/op.h"
#include "realrun/control.h"

namespace plait {

/// What one rank saw of each of `repeats` collectives, in seconds.
struct CollectiveTimes {
  double wall = 0, cpu = 0;  // means
};

/// A collective of `elements` fp32 elements (nccl-tests' size) over ranks 0 .. members - 1. All
/// members begin at once; the other ranks only wait for that. An all_reduce out of place copies its
/// input first. For all_reduce, all_gather and reduce_scatter.
CollectiveTimes time_collective(Transport& transport, Control& control, CollectiveKind kind,
                                std::int64_t members, std::int64_t elements, bool in_place,
                                std::int64_t repeats);

/// Share of the buffer that crosses each link, by nccl-tests' doc/PERFORMANCE.md: busbw = algbw
/// times this.
double bus_factor(CollectiveKind kind, std::int64_t members);

}  // namespace plait
