#pragma once
// Which products of a layer are linear layers of their own in transformers' models
// (models/NAME/modeling_NAME.py): queries, keys and values in one or in three, gate and up in one
// or in two.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "plan/lora.h"

namespace plait {

struct LinearModules {
  std::vector<AdapterTarget> targets;
  bool assumed = false;  // of a model that transformers does not have by its name
};

/// `said` is "model" of a scenario in `folder`, and `model` what that means.
LinearModules linear_modules(const nlohmann::ordered_json& said,
                             const std::filesystem::path& folder, const Model& model);

}  // namespace plait
