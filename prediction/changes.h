#pragma once
// What to change about a layout: cures where it does not fit, improvements where it does.

#include <vector>

#include "core/watch.h"
#include "prediction/evaluate.h"
#include "reports/changes.h"

namespace plait {

/// Of `scenario`, which is `text` with `sets`; `now` is its own prediction. `jobs`: threads.
Changes changes_of(const ScenarioText& text, const std::vector<Override>& sets,
                   const Scenario& scenario, const Report& now, int jobs, const Watch& watch = {});

}  // namespace plait
