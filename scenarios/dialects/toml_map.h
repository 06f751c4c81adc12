#pragma once
// The part of TOML that configuration files of this kind use: tables of scalars and of lists, which
// may have several lines.

#include <string>
#include <string_view>
#include <vector>

namespace plait {

struct TomlEntry {
  std::string path;  // "parallelism.tensor_parallel_degree"
  std::string text;  // without quotes; a list as it is written
  int line = 0;
};

/// Values by path, in the order of the file. Throws InputError D002 with the line for what is
/// neither a table nor "key = value", and D004 for a key that stands twice.
std::vector<TomlEntry> read_toml_map(std::string_view text, const std::string& file);

}  // namespace plait
