#pragma once
// The main job of serving: scenario -> requests, capacity and service -> report.

#include "cli/progress.h"
#include "reports/serving.h"
#include "scenarios/scenario.h"

namespace plait {

/// Serves the scenario's requests. Throws InputError for what cannot be served, with its place.
ServingReport predict_serving(const Scenario& scenario, const RunFacts& facts,
                              ProgressLine& progress);

}  // namespace plait
