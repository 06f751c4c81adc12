#pragma once
// The words of the command that starts vLLM, in a script, a manifest or a file of --config.

#include <string>
#include <vector>

#include "core/warning.h"
#include "scenarios/dialects/shell/program_words.h"
#include "scenarios/dialects/shell/shell_words.h"

namespace plait::vllm {

/// vllm serve, its module before there was that command, and its images.
StartedProgram started();

/// Options by their long names, less short ones in front of vLLM: -m of Python, -p of Docker.
std::vector<ShellWord> words_of(const std::string& text, const std::string& file,
                                Warnings& warnings);

}  // namespace plait::vllm
