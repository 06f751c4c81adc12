#pragma once
// The low-rank adapters of a published run, and how the weights beside them are stored: by the
// words of its record, or else those of the recipe.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/published/record.h"

namespace plait {

/// Whether a run trains adapters alone.
bool has_adapters(const PublishedRun& run);

/// workload.lora of such a run; appends what its record does not say and where that is taken from.
/// Throws NotRepresentable where they are not planned beside what the run has.
nlohmann::ordered_json adapters_of(const PublishedRun& run, std::vector<std::string>& assumed);

}  // namespace plait
