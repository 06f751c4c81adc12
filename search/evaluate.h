#pragma once
// A layout priced exactly: planned, simulated and its memory counted, as `plait run` does it.

#include <memory>
#include <optional>
#include <vector>

#include "core/time.h"
#include "costmodel/stage_use.h"
#include "scenarios/scenario.h"
#include "search/layout.h"
#include "sim/simulate.h"

namespace plait {

struct Evaluation {
  SimTime step = 0;
  Bytes memory;  // of the fullest rank
  Bytes room;    // that the rank or host with least has left; negative: it does not fit
  bool fits() const { return room >= Bytes(); }
};

/// What was worked out for it, where the whole step was simulated and its memory counted: all that
/// a report is made of.
struct EvaluatedStep {
  Plan plan;
  Simulation run;
  SimTime step = 0;
  std::vector<StageUse> memory;  // per stage
};

/// The scenario with this layout.
Scenario with_layout(const Scenario& scenario, const Layout& layout);

struct Priced {
  Evaluation result;
  std::shared_ptr<const EvaluatedStep> step;  // null: not worked out whole
};

/// Beyond `limit` the memory is not counted: it is 0. Throws InputError where the layout cannot be
/// planned.
Priced price(const Scenario& scenario, const CostModel& costs, const Layout& layout, SimTime limit);

/// Its result; nothing where the layout cannot be planned.
std::optional<Evaluation> evaluate(const Scenario& scenario, const CostModel& costs,
                                   const Layout& layout, SimTime limit);

}  // namespace plait
