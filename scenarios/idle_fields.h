#pragma once
// W001: fields that a scenario writes and that change nothing in it, because what they are about is
// not there: a bucket without replicas, kernels of experts without experts. What a framework's
// profile put there is its habit, of which nothing is said, and so is a field that says its
// default.

#include <string>
#include <vector>

#include "core/json.h"
#include "core/warning.h"
#include "scenarios/fields.h"
#include "scenarios/scenario.h"

namespace plait {

/// Whether the scenario itself says the field at `path` ("strategy.data.bucket") or, of an object,
/// anything in it. `filled_in`: paths that its framework put there.
bool says_itself(const Json& root, const std::vector<std::string>& filled_in,
                 const std::string& path);

/// W001 "`path` has no effect" and why, which follows: ": its rank is 0".
Warning no_effect(const std::string& path, std::string_view why);

/// Of a resolved scenario. `parts`: as read, with what resolve_strategy filled in.
Warnings idle_fields(const Json& root, const std::vector<std::string>& filled_in,
                     const ScenarioParts& parts, const Scenario& scenario);

}  // namespace plait
