#pragma once
// Which single decisions about the layout would make a step faster, found by predicting each.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/neighbours.h"
#include "prediction/evaluate.h"

namespace plait {

/// A scenario with one decision changed, which fits and is faster.
struct Improvement {
  Assignments sets;  // as --set takes them, with the size of the axis that gave way
  Report report;
};

struct Improvements {
  std::size_t tried = 0, planned = 0, fit = 0;  // neighbours; those that can be planned; that fit
  std::vector<Improvement> best;                // the fastest of each decision, fastest first
};

/// Looks at the neighbours of `scenario`, which is `text` with `sets`, and keeps at most `most`.
/// `now` is its own prediction. With the flow network the candidates are chosen by the analytic
/// one, which is quicker, and kept by what the flow network then says of them; where the analytic
/// one has no prediction of the scenario itself, by the flow network alone.
Improvements improvements(const ScenarioText& text, const std::vector<Override>& sets,
                          const Scenario& scenario, const Report& now, Evaluator& evaluator,
                          int jobs, std::size_t most = 3);

/// {"tried": 30, "planned": 24, "fit": 12, "step_time_s": ..., "best": [{"set": {...},
///  "step_time_s": ..., "step_time_change": ..., "peak_memory_bytes": ..., "bound_by": ...}]}
/// The outer step time is that of the scenario itself.
nlohmann::ordered_json improvements_json(const Improvements& found, double step_time_s);

}  // namespace plait
