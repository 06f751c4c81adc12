#pragma once
// Models by name, each with the source of its shapes and the parameter count that its authors
// publish. A preset is plain data: a scenario may take one and change any field.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace plait {

struct Preset {
  Model model;
  /// Parameters as published; 0 when nobody has published a count.
  std::int64_t published_parameters = 0;
  /// 0 when the published count is exact, else half a unit of its last printed digit.
  std::int64_t rounding = 0;
  std::string_view source;
};

/// All presets, in the order in which they are listed to users.
const std::vector<Preset>& presets();

/// The model of that name, ignoring case, or null. The pointer stays valid for good.
const Model* find_preset(std::string_view name);

std::vector<std::string> preset_names();

}  // namespace plait
