#pragma once
// What torch.autocast is planned beside.

#include "model/model.h"
#include "plan/strategy.h"
#include "plan/workload.h"

namespace plait {

/// Throws InputError S196 where a workload with autocast, or what it stands beside, is not planned.
void require_autocast(const Model& model, const Workload& workload, const Strategy& strategy);

}  // namespace plait
