#pragma once
// The file of `vllm serve --config`: YAML whose keys are options' names (vllm/utils/
// argparse_utils.py, load_config_file, at commit 00da11e3).

#include <string>
#include <vector>

#include "core/warning.h"
#include "scenarios/dialects/shell/shell_words.h"

namespace plait::vllm {

/// Lines of it begin with keys that say how a model is served.
bool is_config(const std::string& text);
/// The options that it stands for, "--tensor-parallel-size=4"; a map has an option for each of its
/// keys, "--speculative-config.method=ngram". Throws what read_yaml_map throws. `warnings` gets
/// W007 for keys with a list or without a value.
std::vector<ShellWord> words_of_config(const std::string& text, const std::string& file,
                                       Warnings& warnings);

/// The words of a command, and where --config names a file that `script` writes that file's options
/// in place of it, in front of the command's own, which count more (argparse_utils.py,
/// _pull_args_from_config).
std::vector<ShellWord> with_written_config(std::vector<ShellWord> words, const std::string& script,
                                           const std::string& file, Warnings& warnings);

}  // namespace plait::vllm
