#pragma once
// The main job of serving: scenario -> requests, capacity and service -> report.

#include "cli/progress.h"
#include "reports/serving.h"
#include "scenarios/scenario.h"

namespace plait {

/// Requests as the scenario has them, or at the highest rate that attains its objectives.
enum class ServingQuestion : std::uint8_t { kAsWritten, kMaxRate };

/// Serves the scenario's requests. Throws InputError for what cannot be served, with its place;
/// S184 where the highest rate of a load is asked for that has none.
ServingReport predict_serving(const Scenario& scenario, ServingQuestion question,
                              const RunFacts& facts, ProgressLine& progress);

}  // namespace plait
