#pragma once
// A value that the command line gives a field of a scenario, over what the file says.

#include <string>

namespace plait {

/// "strategy.tp", "4", and the option that said it, which messages about the value name.
struct Override {
  std::string path, value;
  std::string option = "--set";
  bool operator==(const Override&) const = default;
};

}  // namespace plait
