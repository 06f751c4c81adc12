#pragma once
// When each op ran. The only thing that the simulator and the real backends have in common besides
// the plan. A track is one represented rank; spans are indexed by the flat op index of its program:
// the ops of its first call, then those of its second, and so on.

#include <cstdint>
#include <vector>

#include "core/filled_later.h"
#include "core/time.h"

namespace plait {

/// Of each op of a rank. Written once, when it runs.
using Instants = FilledLater<SimTime>;

struct Track {
  std::int64_t stage = 0;
  std::int64_t rank = 0;          // a representative
  std::int64_t multiplicity = 1;  // ranks that behave exactly like it
  Instants start, end;
};

struct Timeline {
  SimTime step_time = 0;  // end of the last op of any rank
  std::vector<Track> tracks;
};

}  // namespace plait
