#pragma once
// What low-rank adapters are not planned beside.

#include "model/model.h"
#include "plan/strategy.h"
#include "plan/workload.h"

namespace plait {

/// Throws InputError S160 to S163 and S165, with the field; nothing without adapters.
void require_lora(const Model& model, const Workload& workload, const Strategy& strategy);

}  // namespace plait
