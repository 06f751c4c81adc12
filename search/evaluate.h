#pragma once
// A layout priced exactly: planned, simulated and its memory counted, as `plait run` does it.

#include <optional>
#include <string>

#include "core/time.h"
#include "scenarios/scenario.h"
#include "search/layout.h"
#include "sim/simulate.h"

namespace plait {

struct Evaluation {
  SimTime step = 0;
  Bytes memory;  // of the fullest rank
  Bytes room;    // that the rank with least of it has left; negative: it does not fit
  bool fits() const { return room >= Bytes(); }
};

/// The scenario with this layout.
Scenario with_layout(const Scenario& scenario, const Layout& layout);

/// Beyond `limit` the memory is not counted: it is 0. Throws InputError where the layout cannot be
/// planned.
Evaluation price(const Scenario& scenario, const CostModel& costs, const Layout& layout,
                 SimTime limit);

/// The same; nothing where the layout cannot be planned.
std::optional<Evaluation> evaluate(const Scenario& scenario, const CostModel& costs,
                                   const Layout& layout, SimTime limit);

}  // namespace plait
