#pragma once
// What the framework of a scenario has of the fields that a search or a change of the layout may
// choose.

#include <vector>

#include "scenarios/framework.h"
#include "scenarios/scenario.h"

namespace plait {

/// All that its profile says of a model like this; fields that are not here it has all of. Nothing
/// where the scenario names no framework.
std::vector<FrameworkOffer> offers_of(const Scenario& scenario);

/// Whether it has each of these values.
bool are_offered(const std::vector<FrameworkOffer>& offers, const std::vector<Override>& sets);

}  // namespace plait
