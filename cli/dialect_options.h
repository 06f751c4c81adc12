#pragma once
// Dialects by name, for --to and --from.

#include <string>
#include <vector>

#include "scenarios/dialects/dialects.h"

namespace plait {

Dialect dialect_named(const std::string& name);
/// All, or only those that can be read.
std::vector<std::string> dialect_names(bool read);

}  // namespace plait
