#pragma once
// Dialects by name, for --to and --from.

#include <string>
#include <vector>

#include "scenarios/dialects/dialects.h"

namespace plait {

Dialect dialect_named(const std::string& name);
/// Those that can be read, or written.
std::vector<std::string> dialect_names(bool read);
/// Those that can be written of a scenario that trains.
std::vector<std::string> training_dialect_names();

}  // namespace plait
