#pragma once
// What each rank's compute stream does, or waits for.

#include <vector>

#include "sim/binding_members.h"
#include "sim/further_periods.h"
#include "sim/recorded_step.h"

namespace plait {

/// Mean over all ranks; sums to the step time.
std::vector<Share> breakdown(const RecordedStep& step, const BindingMembers& members,
                             const FurtherPeriods& further);

}  // namespace plait
