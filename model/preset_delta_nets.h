#pragma once
// Models with gated delta nets.

#include <vector>

#include "model/presets.h"

namespace plait {

void append_delta_nets(std::vector<Preset>& table);

}  // namespace plait
