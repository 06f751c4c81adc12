#pragma once
// The sweep engine: list scheduling of programs on rank classes, with no event queue. With the
// analytic network an op starts when its stream, its operands and, for a collective, all members
// are ready, and takes as long as it takes alone; a kernel longer, while collectives of its rank
// that were issued before it hold multiprocessors (holdings.h). So times can be computed in any
// order that respects this. Each stage's program is walked in issue order until a receive finds no
// message or a collective across stages lacks members; then the next stage goes on.
//
// Given clocks c[stream] of a stage, its host's clock h, and an op on stream s with duration d that
// takes the host i to issue:
//   h     = h + i
//   ready = max(h, c[s], c[compute] if s is behind compute, ends of the ops it waits for)
//   compute, copy   end = ready + d, later for a kernel beside collectives
//   collective      end = max over the group of ready, + d
//   send            end = ready + d, which is when the message arrives
//   receive         end = max(ready, arrival)
// A rank that stands at several places (plan/places.h) ends a send or receive with the last of its
// messages; else its places stay together by themselves, as they meet in the same collectives.
// And where the host waits after the op, h = max(h, c[every stream]).
// Blocks whose ops wait for nothing that comes later than their start nor for other lanes, and
// begin when no collective goes on, are precomputed: running such a block is one addition for each
// lane. Sums of integers are associative, so this is exact.

#include <cstdint>
#include <vector>

#include "plan/dependencies.h"
#include "plan/plan.h"
#include "plan/timeline.h"
#include "sim/durations.h"
#include "sim/lanes.h"

namespace plait {

struct Sweep {
  SimTime step_time = 0;
  std::vector<Track> tracks;    // stage-major, lane-minor, when recorded
  std::int64_t ops_walked = 0;  // op instances on rank classes
};

/// Throws InternalError naming the first blocked op of each stage when nothing can run.
Sweep sweep(const Plan& plan, const Dependencies& deps, const Lanes& lanes,
            const Durations& durations, bool record);

}  // namespace plait
