#pragma once
// Variables by which a script sets what vLLM does beside its options.

#include <string>
#include <vector>

namespace plait::vllm {

/// Names of variables VLLM_... that the script assigns, each once, in the order of the text.
/// Comments are left out.
std::vector<std::string> variables_of(const std::string& script);

}  // namespace plait::vllm
