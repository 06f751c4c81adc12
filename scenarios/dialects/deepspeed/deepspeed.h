#pragma once
// DeepSpeed's ds_config.json. Keys and defaults: deepspeed/runtime/zero/config.py (at commit
// 1b88ac366fc922254d56abda5cf6b1f266556d19), deepspeed/runtime/constants.py (088be892) and
// docs/_pages/config-json.md (00376da4) of github.com/deepspeedai/DeepSpeed. Bucket sizes count
// elements.

#include <string_view>

#include "scenarios/dialects/export_draft.h"

namespace plait::deepspeed {

/// Where nothing is sharded nothing leaves the device, and parameters where they are
/// (deepspeed/runtime/zero/config.py): the stage from which `part` does, "offload_param" or
/// "offload_optimizer".
constexpr int least_stage_of(std::string_view part) { return part == "offload_param" ? 3 : 1; }

void write(ExportDraft& draft);
Imported read(const std::string& text, const std::string& file);

}  // namespace plait::deepspeed
