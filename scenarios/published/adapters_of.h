#pragma once
// The low-rank adapters of a published run: records say that there are some, not which.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/published/record.h"

namespace plait {

/// workload.lora of a run with adapters; appends the recipe that it is taken from. Throws
/// NotRepresentable where adapters are not planned beside what the run has.
nlohmann::ordered_json adapters_of(const PublishedRun& run, std::vector<std::string>& assumed);

}  // namespace plait
