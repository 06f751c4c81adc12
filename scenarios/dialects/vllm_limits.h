#pragma once
// Limits of an engine that vLLM does not start with, though Plait serves with them.

#include <string>

#include "plan/requests.h"

namespace plait::vllm {

/// Throws InputError D011 for a step with room for fewer tokens than sequences, or, where prompts
/// are not cut, than the longest has; and for blocks of a size that vLLM has not. `path`: of the
/// engine's fields.
void require_accepted(const EngineLimits& limits, const std::string& path);

}  // namespace plait::vllm
