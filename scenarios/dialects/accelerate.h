#pragma once
// Accelerate's configuration file. Keys: src/accelerate/commands/config/config_args.py (at commit
// 002dd35a), src/accelerate/parallelism_config.py (0422db7e) and the guide "FSDP1 vs FSDP2" of
// github.com/huggingface/accelerate.

#include "scenarios/dialects/export_draft.h"

namespace plait::accelerate {

void write(ExportDraft& draft);
/// Also reads FSDP1's sharding strategies.
Imported read(const std::string& text, const std::string& file);

}  // namespace plait::accelerate
