#pragma once
// What a file, with its base, does not say of all that a scenario needs.

#include <string>
#include <vector>

#include "core/warning.h"
#include "scenarios/scenario.h"

namespace plait {

/// D005. `missing`: paths of a scenario's fields, at least one, those of the model first.
/// `unknown_model`: what the file calls a model that is no preset; "": it names none.
[[noreturn]] void refuse_missing(const std::vector<std::string>& missing,
                                 const std::string& unknown_model, const std::string& file);

/// W008 where the scenario serves with work for a processor, and names none.
void warn_of_processor(const Scenario& scenario, Warnings& warnings);

}  // namespace plait
