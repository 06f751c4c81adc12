#pragma once
// A script that writes Accelerate's configuration file itself and starts it.

#include <string>

#include "scenarios/dialects/config_entries.h"

namespace plait::accelerate {

/// Of the file, or of what the script writes with the options of `accelerate launch` over it
/// (accelerate/commands/launch.py: what the command says, the file does not).
ConfigEntries entries_of(const std::string& text, const std::string& file);

}  // namespace plait::accelerate
