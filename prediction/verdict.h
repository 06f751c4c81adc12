#pragma once
// Whether a scenario can be run and fits: all that is known of it without a simulation.

#include "prediction/planned_step.h"
#include "reports/report.h"

namespace plait {

struct Verdict {
  PlannedStep step;
  MemoryReport memory;
};

/// Throws InputError for what cannot be planned, or run on its machine.
Verdict verdict_on(const Scenario& scenario);

}  // namespace plait
