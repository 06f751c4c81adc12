#pragma once
// Pipeline schedules laid out for given durations and a limit on memory (Qi et al. 2023, Zero
// Bubble Pipeline Parallelism, section 3): with one chunk per stage and backward cut into B and W,
// when a stage does which pass.

#include <cstdint>
#include <vector>

#include "plan/schedule.h"

namespace plait {

/// Tasks of every stage, none of which holds the activations of more than `held` microbatches; B
/// frees all but `profile.kept` of one, W the rest.
///
/// Given f, b, w and c (a message), all stages are walked in time. A stage
///   - does so many forwards before its first B as end before that B can be there when nothing
///   holds
///     it up, and room for them is left: (p - s) f + (p - s - 1) (b + 2 c), in units of f;
///   - then does what has arrived, B or F, and W where neither has and a wait would be long;
///   - does W where it has no room for an F.
/// What a long wait is, whether F and B take turns or B comes first, and whether one more forward
/// than that comes before the first B, are tried out; the layout whose longest stage is shortest,
/// from its first pass to its last one, is the answer.
std::vector<std::vector<Task>> automatic_schedule(const PassProfile& profile, std::int64_t stages,
                                                  std::int64_t microbatches, std::int64_t held);

}  // namespace plait
