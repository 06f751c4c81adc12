#pragma once
// vLLM's --speculative-config, a JSON object in one word, and serving.speculative.

#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/export_draft.h"

namespace plait::vllm {

/// How many guesses turn out right has no counterpart, nor has the head that EAGLE needs.
void write_speculation(ExportDraft& draft, const Speculation& speculation);

/// Where the option is absent, what the base says stays. `preset`: the model that is served, or "";
/// with mtp it has the modules of its release. Throws InputError D006 for methods that are not
/// described, J0xx.
void read_speculation(Arguments& args, Imported& out, const std::string& file,
                      const std::string& preset);

}  // namespace plait::vllm
