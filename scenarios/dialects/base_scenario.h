#pragma once
// What an import takes from --base: a scenario, or parts of one.

#include "scenarios/dialects/dialects.h"
#include "scenarios/dialects/scenario_tree.h"

namespace plait {

/// A whole scenario is one that is right by itself, but for what is missing. Parts of one are
/// judged together with the file.
/// Throws what parse_scenario throws, F003 for what is no object, and F001 for parts that no
/// scenario has.
void check_base(const BaseScenario& base);

/// What a base that check_base accepts says; an empty object where there is none.
ScenarioTree tree_of(const BaseScenario& base);

/// Where the base says what is at a path; `otherwise` where it does not.
Where place_in(const BaseScenario& base, const Where& otherwise);

/// D008: what trains is no change of a base that serves.
[[noreturn]] void refuse_to_train(const std::string& file, const BaseScenario& base);

/// How a base says what is missing at a path: {"serving": {"speculative": {"acceptance": 0.7}}}.
std::string said_at(const std::string& path, const InputError::Text& missing);

}  // namespace plait
