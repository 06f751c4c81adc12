#pragma once
// The main job of serving: scenario -> requests, capacity and service -> report.

#include <cstdint>

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

/// Sequences of serving.engine.max_model_len tokens that the cache of a replica has room for at a
/// time, 0: not one. Without max_model_len all that may run. Throws as predict_serving does.
std::int64_t sequences_with_room(const Scenario& scenario);

}  // namespace plait
