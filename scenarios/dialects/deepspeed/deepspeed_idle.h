#pragma once
// Keys of ds_config.json that change nothing of a step that a scenario says.

#include "core/json.h"

namespace plait::deepspeed {

/// By its path: "fp16.loss_scale", and all of "scheduler"; or as DeepSpeed has it by default.
bool is_idle(const Json& json);

/// offload_optimizer, offload_param.
bool is_place(const Json& json);
/// The key of such a part is read elsewhere, or changes nothing there.
bool is_idle_in(const Json& place, const Json& key);

}  // namespace plait::deepspeed
