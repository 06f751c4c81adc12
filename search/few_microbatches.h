#pragma once
// The step of many microbatches from two of few. The middle of a schedule repeats: a plan of d more
// microbatches has a period of calls more. Once a period takes exactly as long as the one before,
// so does every further one, and the step of n + k d microbatches is that of n and k times what the
// first d add.
//
// Of the plans of n and n + d microbatches, for each stage: c, the calls that they have in common;
// L, the calls that the second has more; f, from which on call i + L of the second does what call i
// of the first does, d microbatches later; T, by how much the second step is longer. It holds where
//   - what comes before c starts and ends alike in both, and receives nothing sent behind c;
//   - what comes behind x - L, with x = c - K L >= f + L, starts and ends T later in the second;
//   - what comes before x has ended before anything of the last period, c - L to c, starts: later
//     ops wait for what is within K periods, which is T later each time;
//   - no collective that spans stages comes before c;
//   - the host, which may be ahead, needs no longer than T to issue L calls: it is never behind.
// Whatever an op waits for is either T later with each period or falls behind for good. What is not
// exactly so is simulated whole: GPipe, whose passes of one direction come all together; two
// pipelines in opposite directions; schedules that are laid out for a number of microbatches; a
// machine where a period takes longer until a queue is full.

#include <cstdint>
#include <optional>

#include "core/time.h"
#include "plan/plan.h"
#include "scenarios/scenario.h"
#include "sim/explain.h"
#include "sim/simulate.h"

namespace plait {

/// A step told from few of its microbatches.
struct ToldStep {
  SimTime step = 0;  // step_of_all
  Plan few;          // the shorter of the two plans
  Simulation run;    // of it
  /// What the step has and the shorter plan has not.
  std::int64_t microbatches = 0;
  FurtherPeriods further;
};

/// Nothing where it cannot be told, or would take as long as the whole step's simulation. Throws
/// InputError where the scenario cannot be planned.
std::optional<ToldStep> step_of_few(const Scenario& scenario, const CostModel& costs);

/// Simulated whole.
SimTime step_of_all(const Plan& plan, const Scenario& scenario, const CostModel& costs);

}  // namespace plait
