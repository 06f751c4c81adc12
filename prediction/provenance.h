#pragma once
// Where the predicted durations come from: each kernel and collective of each block, weighted by
// how long it takes and how often it runs.

#include <vector>

#include "costmodel/costmodel.h"
#include "reports/report.h"
#include "sim/simulate.h"

namespace plait {

ProvenanceShares provenance_of(const Plan& plan, const StepCounts& counts, const Cluster& cluster,
                               const CostModel& costs,
                               const std::vector<CollectiveChoice>& collectives);

}  // namespace plait
