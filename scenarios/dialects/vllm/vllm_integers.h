#pragma once
// Sizes as vLLM's options have them.

#include <cstdint>
#include <optional>
#include <string_view>

#include "scenarios/dialects/arguments.h"

namespace plait::vllm {

/// The longest sequence that vLLM finds room for (vllm/engine/arg_utils.py).
bool is_automatic(Arguments& arguments, std::string_view option);

/// "32k" is 32,000, "32K" 32,768 and "25.6k" 25,600 (vllm/engine/arg_utils.py, human_readable_int).
std::optional<std::int64_t> readable_integer(Arguments& arguments, std::string_view option);

}  // namespace plait::vllm
