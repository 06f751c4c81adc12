#pragma once
// What a record says of recomputation, in the words of its source, as strategy.recompute.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/published/recipe_of.h"
#include "scenarios/published/record.h"

namespace plait {

/// "selective" without more is the attention core in Megatron-LM's family, and every other product
/// in torchtitan; `assumed` says which was taken. Throws NotRepresentable for words that nothing in
/// a plan stands for.
nlohmann::ordered_json recompute_of(const PublishedRun& run, const std::string& framework,
                                    const Recipe& recipe, std::vector<std::string>& assumed);

/// Whether torch.compile makes one kernel of each layer's chains.
bool compiles_layers(const PublishedRun& run);

/// Whether products of `recompute_of` are computed again one by one.
bool recomputes_ops(const nlohmann::ordered_json& recompute);

}  // namespace plait
