#pragma once
// Memory of one rank on its device, or in another place, as one block: where in it each tensor
// member lies while it lives. Worked out before the run from plan/memory.h, so a step allocates
// nothing and repeats at the same addresses.
//
// Compute runs in issue order, so memory goes on to the next op as soon as its last op is issued.
// Communication runs beside it: what an op of another stream touches stays until a compute op has
// been issued that waits for that op, itself or through others. Memory is reused from that compute
// op on; an op of another stream that takes it over has to wait for it (`behind`).

#include <cstdint>
#include <vector>

#include "plan/memory.h"
#include "plan/plan.h"

namespace plait {

/// A stay in memory and its place there.
struct Placed {
  Stay stay;
  std::int64_t offset = 0;    // bytes, a multiple of kArenaAlignment
  std::int64_t released = 0;  // flat op from whose issue on the memory may be reused
};

inline constexpr std::int64_t kArenaAlignment = 256;  // bytes, as cudaMalloc aligns

struct Arena {
  std::int64_t bytes = 0;          // of the block
  std::vector<Placed> persistent;  // whole steps
  std::vector<Placed> passing;     // in the order of their first ops
  /// Per flat op: the last op before it that used memory which it takes over, -1: none.
  std::vector<std::int64_t> behind;
};

/// Best fit, in issue order, of what a rank with that role holds in that place.
Arena arena(const Plan& plan, std::size_t stage, Role role = {}, Place place = Place::kDevice);

/// Per flat op of another stream than compute: the first compute op that is behind its end; as many
/// as there are ops where none is. 0 for compute, and for what a rank with that role does not run.
std::vector<std::int64_t> first_waiters(const Plan& plan, std::size_t stage, Role role = {});

}  // namespace plait
