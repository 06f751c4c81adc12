#pragma once
// The pipeline of a published run as a scenario has it: which schedule, which layers each stage
// has, and how microbatches go through its chunks.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/published/recipe_of.h"
#include "scenarios/published/record.h"

namespace plait {

/// Of a run of that framework with several stages; appends what it has to assume.
nlohmann::ordered_json pipeline_of(const PublishedRun& run, const std::string& framework,
                                   const Recipe& recipe, std::vector<std::string>& assumed);

}  // namespace plait
