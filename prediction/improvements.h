#pragma once
// Which single decisions about the layout would make a step faster, found by predicting each.

#include <cstddef>
#include <vector>

#include "core/watch.h"
#include "prediction/evaluate.h"
#include "reports/changes.h"

namespace plait {

/// Looks at the neighbours of `scenario`, which is `text` with `sets`, and keeps at most `most`.
/// `now` is its own prediction. With the flow network the candidates are chosen by the analytic
/// one, which is quicker, and kept by what the flow network then says of them; where the analytic
/// one has no prediction of the scenario itself, by the flow network alone.
Improvements improvements(const ScenarioText& text, const std::vector<Override>& sets,
                          const Scenario& scenario, const Report& now, Evaluator& evaluator,
                          int jobs, const Watch& watch = {}, std::size_t most = 3);

}  // namespace plait
