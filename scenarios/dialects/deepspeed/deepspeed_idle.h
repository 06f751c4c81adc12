#pragma once
// Keys of ds_config.json that change nothing of a step that a scenario says.

#include <string_view>

namespace plait::deepspeed {

/// By its path: "fp16.loss_scale", and all of "scheduler".
bool is_idle(std::string_view path);

}  // namespace plait::deepspeed
