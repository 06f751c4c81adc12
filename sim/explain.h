#pragma once
// Why a simulated step takes as long as it does: its critical path, what each rank spends its time
// on, and how much each hardware number matters.

#include "plan/explanation.h"
#include "sim/further_periods.h"
#include "sim/simulate.h"

namespace plait {

/// Needs a recorded simulation. Where only some lanes are recorded (a large world), waits for lanes
/// that are not are called "bubble", and the critical path goes on along those that are.
Explanation explain(const Plan& plan, const Simulation& simulation,
                    const FurtherPeriods& further = {});

}  // namespace plait
