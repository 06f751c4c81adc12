#pragma once
// Names under which others know our models.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace plait {

/// The repository on huggingface.co, "meta-llama/Llama-3.1-8B", of a model that is a preset
/// unchanged, or with the modules that its release has besides; else "".
std::string_view hub_name_of(const Model& model);
/// Modules that predict further tokens (model.mtp_layers) of a preset's release, which the preset
/// leaves out; 0: it has none.
std::int64_t released_modules(std::string_view preset);
/// The preset that a repository, folder or file of that name holds; else "". The publisher, and
/// what says how it was tuned, quantised or packed, is left out of the name where the shape is the
/// same.
std::string preset_of_hub_name(std::string_view name);
/// How many positions a release of that name has, where its preset has others; else 0.
std::int64_t positions_of_hub_name(std::string_view name);
/// Presets whose names are most like it, the likeliest first: other models than that.
std::vector<std::string> presets_like(std::string_view name);

/// Name and flavor of torchtitan, {"llama3", "8B"}; else empty.
struct TitanModel {
  std::string_view name, flavor;
};
TitanModel titan_model_of(const Model& model);
/// The preset that torchtitan has under these; else "".
std::string preset_of_titan(std::string_view name, std::string_view flavor);

}  // namespace plait
