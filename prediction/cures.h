#pragma once
// What to change when a layout does not fit.

#include <cstddef>
#include <vector>

#include "core/watch.h"
#include "prediction/evaluate.h"
#include "reports/changes.h"
#include "scenarios/scenario.h"

namespace plait {

/// Neighbours (search/neighbours.h) of `scenario` that fit, the fastest first, one for each choice
/// of fields; pairs of them only when none alone is enough. At most `most`. `scenario` is `text`
/// with `sets`. All are planned, few simulated: those that need the most memory of what there is,
/// which is what speed usually costs.
std::vector<Cure> cures(const ScenarioText& text, const std::vector<Override>& sets,
                        const Scenario& scenario, std::int64_t peak_memory_bytes,
                        Evaluator& evaluator, int jobs, const Watch& watch = {},
                        std::size_t most = 5);

}  // namespace plait
