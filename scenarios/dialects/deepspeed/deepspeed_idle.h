#pragma once
// Keys of ds_config.json that change nothing of a step that a scenario says.

#include "core/json.h"

namespace plait::deepspeed {

/// By its path: "fp16.loss_scale", and all of "scheduler"; or as DeepSpeed has it by default.
bool is_idle(const Json& json);

}  // namespace plait::deepspeed
