#pragma once
// Replicas of one layout take as long for a step where their devices and links are alike. Those
// whose devices are of another kind or slower, or whose ranks are joined by other links, have times
// of their own. Replicas that share experts step together, at one pace.

#include <vector>

#include "serving/step_costs.h"

namespace plait {

/// Of each replica the first one that is like it.
std::vector<std::size_t> first_alike(const ServedModel& served);

/// The same model with that replica in the place of the first, whose steps are the ones that are
/// timed.
ServedModel with_first(const ServedModel& served, std::size_t replica);

}  // namespace plait
