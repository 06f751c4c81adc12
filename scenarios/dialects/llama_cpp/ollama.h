#pragma once
// Ollama's settings of a model, a Modelfile, and of the server, environment variables; it runs
// llama.cpp. Names: docs/modelfile.md of ollama/ollama at 071c82b1; num_batch and num_gpu: Runner
// of api/types.go at b8761ab0, whose parameters a Modelfile may set; variables: docs/faq.mdx at
// 00182b50 and envconfig/config.go at 4bf0d41c.

#include "scenarios/dialects/export_draft.h"

namespace plait::ollama {

/// Throws InputError D009 as llama_cpp::served.
void write(ExportDraft& draft);

}  // namespace plait::ollama
