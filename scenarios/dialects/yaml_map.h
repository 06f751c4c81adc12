#pragma once
// The part of YAML that configuration files of this kind use: maps in maps, of scalars, on lines of
// their own or in braces on one. A list stands as it is written. JSON is YAML too: a text that
// begins with a brace is read as that.

#include <string>
#include <string_view>
#include <vector>

namespace plait {

struct YamlEntry {
  std::string path;  // "fsdp_config.fsdp_version"
  std::string text;  // without quotes; "" for null
  int line = 0;
};

/// Scalars by path, in the order of the file. Throws InputError D002 with the line for what is
/// neither "key: value" nor a list, or for a brace that is not closed, and D004 for a key that
/// stands twice; of JSON J0xx.
std::vector<YamlEntry> read_yaml_map(std::string_view text, const std::string& file);

}  // namespace plait
