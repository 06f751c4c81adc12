#pragma once
// What to change where weights and the cache of a server have no room.

#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace plait {

/// Changes for --set each of which alone makes `scenario` fit, as `serving` has it with the limits
/// that it does not state filled in; those that change least of the numbers that are computed
/// first. Nothing with pools of their own.
std::vector<std::string> serving_cures(const Scenario& scenario, const Serving& serving);

}  // namespace plait
