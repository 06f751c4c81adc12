#pragma once
// llama.cpp's --override-tensor PATTERN=BUFFER,...: tensors whose name a pattern is found in are
// kept in that buffer, by the first that is (src/llama-model-loader.cpp). Of these a scenario can
// say how many layers' experts are in host memory, which is what --n-cpu-moe says too.

#include <cstdint>
#include <optional>
#include <string>

#include "scenarios/dialects/arguments.h"

namespace plait::llama_cpp {

/// Layers whose experts are in host memory; nothing where the option is absent or moves no experts
/// there. `preset`: the model's, or "". Warns of what else it moves. Throws InputError D003 for
/// what is no pattern.
std::optional<std::int64_t> experts_overridden(Arguments& args, const std::string& preset,
                                               Imported& out);

}  // namespace plait::llama_cpp
