#pragma once
// What a pattern of layers (Model::layer_pattern) and state-space mixers stand beside.

#include "model/model.h"
#include "plan/strategy.h"
#include "plan/workload.h"

namespace plait {

/// Throws InputError where they cannot be planned so: the model whatever the rest, and all of it.
void require_hybrid(const Model& model);
void require_hybrid(const Model& model, const Workload& workload, const Strategy& strategy);

}  // namespace plait
