#pragma once
// What a server is asked where neither its command nor the base says.

#include <cstdint>

#include "scenarios/dialects/dialects.h"

namespace plait::vllm {

/// Requests that have room in `most` tokens, where a scenario's own have not.
void fit_load(std::int64_t most, Imported& out);

}  // namespace plait::vllm
