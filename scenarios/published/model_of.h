#pragma once
// From what a published run says of its network to the `model` of a scenario.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/published/record.h"

namespace plait {

/// Multi-head latent attention.
bool has_latents(const PublishedRun& run);

/// How many layers come before the first one with experts, by Megatron-LM's list where these come
/// first: ([0]*3+[1]*13).
std::optional<std::int64_t> dense_layers_first(const PublishedRun& run);

/// The `model` of a scenario for that framework; adds to `assumed` what the record does not say.
nlohmann::ordered_json model_of(const PublishedRun& run, const std::string& framework,
                                std::vector<std::string>& assumed);

}  // namespace plait
