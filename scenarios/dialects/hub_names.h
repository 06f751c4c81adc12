#pragma once
// Names under which others know our models.

#include <string>
#include <string_view>

#include "model/model.h"

namespace plait {

/// The repository on huggingface.co, "meta-llama/Llama-3.1-8B", of a model that is a preset
/// unchanged; else "".
std::string_view hub_name_of(const Model& model);
/// The preset that a repository or folder of that name holds; else "".
std::string preset_of_hub_name(std::string_view name);

/// Name and flavor of torchtitan, {"llama3", "8B"}; else empty.
struct TitanModel {
  std::string_view name, flavor;
};
TitanModel titan_model_of(const Model& model);

}  // namespace plait
