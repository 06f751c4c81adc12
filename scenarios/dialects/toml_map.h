#pragma once
// The part of TOML that configuration files of this kind use: tables of scalars and of lists, which
// may have several lines.

#include <string>
#include <string_view>

#include "scenarios/dialects/config_entries.h"

namespace plait {

/// {"parallelism.tensor_parallel_degree", "8"}. Throws InputError D002 with the line for what is
/// neither a table nor "key = value", and D004 for a key that stands twice.
ConfigEntries read_toml_map(std::string_view text, const std::string& file);

}  // namespace plait
