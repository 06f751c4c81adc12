#pragma once
// The main job, in one place for all who ask: scenario -> plan -> timeline -> report.

#include <string>
#include <vector>

#include "core/watch.h"
#include "prediction/planned_step.h"
#include "reports/report.h"
#include "scenarios/scenario.h"
#include "search/evaluate.h"
#include "sim/simulate.h"

namespace plait {

struct PredictionOptions {
  bool unfold = false;
  bool memory_curve = false;  // for traces
  Watch watch = {};           // SimulationOptions::watch
};

/// What is said about a step.
struct Reported : PlannedStep {
  std::vector<StageUse> memory;  // per stage
  Report report;
};

struct Prediction : Reported {
  Simulation simulation;
};

/// Throws InputError for what cannot be planned, InternalError when the plan is not sound.
Prediction predict(const Scenario& scenario, const PredictionOptions& options,
                   const RunFacts& facts);
/// The same with a cost model that is there already: costs_of(scenario).
Prediction predict(const Scenario& scenario, const CostModel& costs,
                   const PredictionOptions& options, const RunFacts& facts);

/// The report alone: to the last bit that of predict(scenario, costs, {}, facts), and sooner where
/// most of a step repeats (search/few_microbatches.h). Throws as predict does.
Reported report_of(const Scenario& scenario, const CostModel& costs, const RunFacts& facts);
/// The same of a step that is evaluated already.
Report report_of(const EvaluatedStep& step, const Scenario& scenario, const CostModel& costs,
                 const RunFacts& facts);

/// The plan, checked: validate() finds nothing. Throws as predict does.
Plan sound_plan(const Scenario& scenario);

}  // namespace plait
