#pragma once
// The step of many microbatches from one of few. The middle of a schedule repeats: a plan of d more
// microbatches has a period of calls more. Once a period does exactly what the one before did,
// later by T, so does every further one and all that comes behind them: the step of n + k d
// microbatches is that of n and k T.
//
// Of the plans of n and n + d microbatches, for each stage: c, the calls that they have in common;
// L, the calls that the second has more; f, from which on call i + L of the second does what call i
// of the first does, d microbatches later. Of the simulation of the first it is asked that
//   - nothing before c waits for another stage's call behind it, and no collective before c spans
//     stages: so what comes before c is the same in both;
//   - what comes before x = c - K L has ended before anything from c - L on starts: what that waits
//     for is within K periods, or long over;
//   - each of the K periods before c starts and ends T later than the one before, x - L >= f;
//   - the host is T later with each period too, or, if by less, ahead of all that comes from c - L
//     on, so that it holds up nothing further on either;
//   - on every rank what ends last comes from c - L on.
// Then call i + L of the second plan is T later than call i of the first, from c - L on, by
// induction in the order in which ops wait for one another: the causes of both are those of the
// same calls, T later each, and any other has ended before. The second plan meets the same
// conditions, so a third one follows. What is not exactly so is simulated with more microbatches
// (queues between stages that take equally long but for little fill slowly), and in the end whole:
// GPipe, whose passes of one direction come all together; two pipelines in opposite directions;
// schedules that are laid out for a number of microbatches.

#include <cstdint>
#include <optional>

#include "core/time.h"
#include "plan/plan.h"
#include "scenarios/scenario.h"
#include "sim/explain.h"
#include "sim/simulate.h"

namespace plait {

/// Microbatches after which the schedule repeats itself; 0: as a whole it does not.
std::int64_t period_of(const Strategy& strategy);

/// Of how many microbatches a step of `all` is told, if of the fewest that are tried; all, where it
/// is simulated whole.
std::int64_t fewest_microbatches(const Strategy& strategy, std::int64_t all);

/// The scenario's workload with so many microbatches of each replica.
Workload with_microbatches(const Scenario& scenario, std::int64_t microbatches);

/// A step told from few of its microbatches.
struct ToldStep {
  SimTime step = 0;  // as step_of_all has it
  Plan few;          // the plan of n microbatches
  Simulation run;    // of it
  /// What the step has and the shorter plan has not.
  std::int64_t microbatches = 0;
  FurtherPeriods further;
};

/// Nothing where it cannot be told, or not from far fewer microbatches. Throws
/// InputError where the scenario cannot be planned.
std::optional<ToldStep> step_of_few(const Scenario& scenario, const CostModel& costs);

/// A step simulated whole.
struct WholeStep {
  SimTime step = 0;
  Simulation run;  // recorded
};
WholeStep step_of_all(const Plan& plan, const Scenario& scenario, const CostModel& costs);

}  // namespace plait
