#pragma once
// A step as it is planned. A plan of few microbatches stands for one of very many, where the middle
// of its schedule repeats itself (search/few_microbatches.h): how often blocks run is known from it
// and a plan of one period more, and so is memory. What a step does as a whole does not depend on
// its layout, and is that of a plan for one device that takes the batch at once.

#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "costmodel/node_use.h"
#include "costmodel/stage_use.h"
#include "plan/step_counts.h"
#include "scenarios/scenario.h"

namespace plait {

struct PlannedStep {
  Plan plan;                 // not checked
  std::int64_t further = 0;  // microbatches of the step that `plan` lacks
  StepCounts counts;         // of the step
  bool exact = true;         // to the last bit; else its tokens and FLOPs are so to rounding errors
};

/// Throws InputError for what cannot be planned.
PlannedStep whole_step(const Scenario& scenario);
/// From the plan of few of its microbatches, whose middle repeats itself; nothing where that does
/// not tell it. Exact but for what depends on the layout: experts with a capacity have slots that
/// are rounded up in each microbatch.
std::optional<PlannedStep> longer_step(const Scenario& scenario, Plan few);
/// From few microbatches where that is much less to plan, else whole. Throws as whole_step does.
PlannedStep planned_step(const Scenario& scenario);

/// Throws InternalError where validate() finds anything.
void require_sound(const Plan& plan);
/// What run needs of the machine beside its devices is described, and its calibration is of it.
/// Throws InputError.
void require_machine(const Plan& plan, const Scenario& scenario);

/// Live memory and overheads of every stage, on the device that has least.
std::vector<StageUse> memory_of(const Plan& plan, const Scenario& scenario, bool curve = false);
std::vector<StageUse> memory_of(const PlannedStep& step, const Scenario& scenario);
/// Had its plan so many microbatches more in the middle; nothing where it does not tell.
std::optional<std::vector<StageUse>> memory_of_longer(const Plan& few, const Scenario& scenario,
                                                      std::int64_t further);

/// What the fullest node's host holds of it.
NodeUse node_of(const Plan& plan, const Scenario& scenario);

/// What plans and simulates knows fields, not files: its errors learn here where the field stands.
template <class Work>
auto located(const Scenario& scenario, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const InputError& error) {
    throw locate(error, scenario);
  }
}

}  // namespace plait
