#pragma once
// Options and variables of vLLM that change nothing of what a scenario says.

#include <string>

#include "scenarios/dialects/arguments.h"

namespace plait::vllm {

/// They count as read.
void pass_over_idle(Arguments& arguments);
bool is_idle_variable(const std::string& name);

}  // namespace plait::vllm
