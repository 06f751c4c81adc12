#pragma once
// How a published run splits its model: the axes, what is sharded, what is computed again, what
// goes in pieces or beside other work.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/published/recipe_of.h"
#include "scenarios/published/record.h"

namespace plait {

/// `strategy` of its scenario. Throws NotRepresentable.
nlohmann::ordered_json strategy_of(const PublishedRun& run, const std::string& framework,
                                   const Recipe& recipe, std::vector<std::string>& assumed);

/// "optimizer to CPU (CPU AdamW)", "ZeRO-Infinity, parameters and optimizer to NVMe", "activation
/// offload 40 layers"; of another kind: nothing.
nlohmann::ordered_json offload_of(const PublishedLayout& layout);

/// torchtitan's enable_async_tensor_parallel.
bool sends_in_pieces(const PublishedRun& run, const std::string& framework);

}  // namespace plait
