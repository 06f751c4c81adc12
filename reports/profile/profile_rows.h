#pragma once
// What a profile measured, in the rows that plait bench writes: products by shape, where the
// profiler recorded shapes, and collectives.

#include <string>
#include <vector>

#include "model/measurement.h"
#include "reports/profile/comparison.h"

namespace plait {

/// Of all whole steps. Products: median, 10th and 90th percentile of the kernels of each shape, as
/// they ran in the step, beside whatever ran there. Collectives: the least of their times, which
/// holds least waiting. The first row says where from.
std::vector<Row> profile_rows(const KinetoTrace& trace, const TraceSteps& steps,
                              const ProfileComparison& comparison);

/// JSON lines.
std::string lines_of(const std::vector<Row>& rows);

}  // namespace plait
