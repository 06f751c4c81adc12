#pragma once
// What to change when a layout does not fit.

#include <vector>

#include "reports/changes.h"
#include "scenarios/scenario.h"

namespace plait {

/// The changes that fit, those that usually cost the least speed first: more sharding of the
/// training state, sequence parallelism, smaller microbatches, recomputation, more tensor or
/// pipeline stages; pairs of them only when none alone is enough. At most `most`.
std::vector<Cure> cures(const Scenario& scenario, std::size_t most = 5);

}  // namespace plait
