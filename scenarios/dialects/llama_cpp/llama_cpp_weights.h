#pragma once
// Which model llama.cpp loads, and how its file of weights is quantised, as the names in
// --model, --model-url, --hf-repo and --hf-file say: the last overrides the third's quantisation,
// which is Q4_K_M where it has none, or the first file's (tools/server/README.md at 00dc8057).

#include <string>

#include "scenarios/dialects/arguments.h"

namespace plait::llama_cpp {

/// The preset, or "".
std::string read_weights(Arguments& args, Imported& out);

}  // namespace plait::llama_cpp
