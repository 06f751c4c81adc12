#pragma once
// Presets with state-space mixers.

#include <vector>

#include "model/presets.h"

namespace plait {

void append_hybrids(std::vector<Preset>& table);

}  // namespace plait
