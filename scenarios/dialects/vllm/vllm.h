#pragma once
// vLLM's command line, as far as a strategy has it: the model, its split and its element type.
// Names: "Engine Arguments" of docs.vllm.ai/en/v0.8.5; of later releases --async-scheduling and
// --mamba-ssm-cache-dtype (vLLM pull request 22928, 2025-08). A file of --config is read too.

#include "scenarios/dialects/export_draft.h"

namespace plait::vllm {

void write(ExportDraft& draft);
Imported read(const std::string& text, const std::string& file);

}  // namespace plait::vllm
