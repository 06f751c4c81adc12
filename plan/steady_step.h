#pragma once
// How long a step takes when one follows another. Stages that nothing makes wait for one another at
// the end of a step begin the next one while later stages still work on this one (Qi et al. 2023,
// arXiv 2401.10241, section 4: without a synchronised optimizer step).

#include "plan/plan.h"
#include "plan/timeline.h"

namespace plait {

/// The longest time from a stage's being ready for its first message, or the beginning, to its end,
/// where no collective spans stages; else the step time of the timeline. A stage waits for its
/// first message in the step that comes first only: later on the one before is ahead of it already.
SimTime steady_step(const Plan& plan, const Timeline& timeline);

}  // namespace plait
