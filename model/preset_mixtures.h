#pragma once
// Presets with experts and attention in every layer.

#include <vector>

#include "model/presets.h"

namespace plait {

void append_mixtures(std::vector<Preset>& table);

}  // namespace plait
