#pragma once
// Pipeline schedules as data: for one stage, the order in which it works on (chunk, microbatch)
// pairs.

#include <cstdint>
#include <vector>

#include "plan/strategy.h"

namespace plait {

struct Task {
  std::int16_t chunk = 0;
  std::int32_t microbatch = 0;
  bool forward = true;
  bool operator==(const Task&) const = default;
};

/// Tasks of `stage` (of `stages`) for `microbatches` microbatches of `chunks` model chunks each.
///   GPipe (Huang et al. 2019): all forwards, then all backwards, microbatches in the same order.
///   1F1B (Narayanan et al. 2019): stages - stage - 1 warm-up forwards, then one forward, one
///   backward. Interleaved 1F1B (Narayanan et al. 2021, section 2.2): microbatches in groups of
///   `stages` go through the chunks in turn; needs microbatches to be a multiple of stages.
std::vector<Task> schedule(Schedule kind, std::int64_t stages, std::int64_t stage,
                           std::int64_t chunks, std::int64_t microbatches);

}  // namespace plait
