#pragma once
// llama.cpp's command line, of llama-server and what has the same options. One server: `dp` of them
// are so many processes. What quantised weights are like is the GGUF file's to say.
// Names: tools/server/README.md of ggml-org/llama.cpp at 00dc8057, made of common/arg.cpp; what
// --split-mode and --n-gpu-layers mean: docs/multi-gpu.md at 5815cb84. `on` behind --flash-attn
// needs a build behind pull request 15434 (August 2025); `auto` and `all` behind --n-gpu-layers one
// of 2026, before which -1 and less say so (pull request 18266, December 2025).

#include "scenarios/dialects/export_draft.h"
#include "scenarios/dialects/shell/program_words.h"

namespace plait::llama_cpp {

void write(ExportDraft& draft);
Imported read(const std::string& text, const std::string& file);

/// Its programs and images.
StartedProgram started();
/// One of them stands in the text, which has no comments.
bool is_named_in(std::string_view commands);

/// What is served. Throws InputError D009 where the scenario trains, or deals layers as Accelerate
/// does, which copies weights to the device whenever a layer runs; `program` says who cannot.
const Serving& served(const Scenario& scenario, std::string_view program);
/// What follows from the program, llama.cpp itself or around it.
void say_engine(ExportDraft& draft, const Serving& serving);

}  // namespace plait::llama_cpp
