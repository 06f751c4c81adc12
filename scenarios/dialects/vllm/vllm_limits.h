#pragma once
// What vLLM does not start with, though Plait serves so.

#include <string>

#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/hub_names.h"
#include "scenarios/dialects/vllm/vllm_formats.h"
#include "scenarios/scenario.h"

namespace plait::vllm {

/// Throws InputError D011 for a step with room for fewer tokens than sequences, or, where prompts
/// are not cut, than the longest has; for a cache that the longest has no room in; and for blocks
/// of a size that vLLM has not. `path`: of the engine's fields.
void require_accepted(const EngineLimits& limits, const Model& model, const std::string& path);
/// D011 for heads that the ranks do not share evenly. `path`: of the field that says `tp`.
void require_even_heads(const Model& model, std::int64_t tp, const std::string& path);
/// D011 for serving in bf16 on a device that has none.
void require_device(const Scenario& scenario);

/// The same of a command for `model`: throws InputError D004 with the line.
void require_accepted(Arguments& arguments, const NamedModel& model);
/// D006 where `script` hides all devices from it.
void require_visible_device(const std::string& script, const std::string& file);

}  // namespace plait::vllm
