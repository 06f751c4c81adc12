#pragma once
// What a scenario asks to be searched.

#include <string>
#include <vector>

#include "scenarios/framework.h"
#include "scenarios/open.h"
#include "search/space.h"

namespace plait {

/// What limits fields that are searched as a whole: all that the scenario's framework has of them,
/// and what the scenario says itself.
std::vector<FrameworkOffer> offers_in(const OpenScenario& open,
                                      const std::vector<std::string>& keep = {});

/// What the scenario says itself of each field that may be searched, or its default.
std::vector<Override> said_in(const OpenScenario& open);

/// All fields open, within what the framework has and what the scenario says itself.
Space offered_in(const OpenScenario& open);

/// The fields that the scenario leaves open, within the values that it names or that its framework
/// offers; all others are as they are there, and dp is what is left of the devices unless it is
/// given. A scenario that leaves nothing open asks for everything, but for the fields that `keep`
/// names. Throws InputError S049 for a value that a field cannot take, G017 for a name in `keep`
/// that is no such field, S050 for a placement.order that leaves out an axis which may have several
/// ranks.
Space space_of(const OpenScenario& open, const std::vector<std::string>& keep = {});

}  // namespace plait
