#pragma once
// What vLLM's options say of experts: whether they are dealt to ranks or divided, and how tokens
// reach them.

#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/dialects.h"
#include "scenarios/dialects/vllm/vllm_formats.h"

namespace plait::vllm {

void read_experts(Arguments& args, Imported& out, const NamedModel& model);

}  // namespace plait::vllm
