#pragma once
// Variables by which a script sets what a server does beside its options.

#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// Names of variables that begin with `prefix`, "VLLM_", and that the script assigns, each once, in
/// the order of the text. Comments are left out.
std::vector<std::string> variables_of(const std::string& script, std::string_view prefix);

}  // namespace plait
