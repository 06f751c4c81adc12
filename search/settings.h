#pragma once
// What --set has to say for a scenario to become a layout that a search found.

#include <functional>
#include <string>
#include <vector>

#include "scenarios/open.h"
#include "search/layout.h"

namespace plait {

/// Fields that `search` would choose and that `assignments` say, of themselves or in a section.
std::vector<std::string> held_by(const std::vector<Override>& assignments,
                                 const OpenScenario& open);

/// What the scenario leaves open or says otherwise, in the file or by its framework, and the fields
/// of `held`, whatever it says of them; and what would be refused beside the layout, or change it,
/// reset. `made`: the layout as a strategy.
std::vector<Override> settings_for(const Layout& layout, const Strategy& made,
                                   const OpenScenario& open, const std::vector<std::string>& held);

using ScenarioParser = std::function<Scenario(const std::vector<Override>&)>;

/// Those of `settings` without which `parse` makes another scenario, but all of `held`.
std::vector<Override> that_matter(std::vector<Override> settings,
                                  const std::vector<std::string>& held,
                                  const ScenarioParser& parse);

}  // namespace plait
