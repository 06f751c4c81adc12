#pragma once
// What all layouts of a search have in common, and might not.

#include <string>
#include <vector>

#include "scenarios/open.h"
#include "search/space.h"

namespace plait {

/// A field that a search may open, and the value that it has in all layouts.
struct HeldField {
  std::string path, value;
};

/// Of fields that a search opens only where the scenario does, or -L: those that matter to some
/// layout of the space, a list of which would be searched.
std::vector<HeldField> held_fields(const OpenScenario& open, const Space& space);

}  // namespace plait
