#pragma once
// Variables by which a script sets what a server does beside its options.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// Names of variables that begin with `prefix`, "VLLM_", and that the script assigns, each once, in
/// the order of the text. Comments are left out, and those that it uses itself and does not export.
std::vector<std::string> variables_of(const std::string& script, std::string_view prefix);

struct VisibleDevices {
  std::int64_t count = 0;
  int line = 0;
};
/// Devices that CUDA_VISIBLE_DEVICES=0,1 leaves to `program`: those in front of the first that is
/// none, as -1 (torch/cuda/__init__.py, _parse_visible_devices). Nothing where the script does not
/// say so, or a variable does. In front of another command it is that one's.
std::optional<VisibleDevices> visible_devices(const std::string& script, std::string_view program);

}  // namespace plait
