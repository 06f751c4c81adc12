#pragma once
// The part of YAML that configuration files of this kind use: maps in maps, of scalars, on lines of
// their own or in braces on one. A list stands as it is written. JSON is YAML too: a text that
// begins with a brace is read as that.

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/dialects/config_entries.h"

namespace plait {

/// {"fsdp_config.fsdp_version", "2"}; maps and what is null have no value. Throws InputError D002
/// with the line for what is neither "key: value" nor a list, or for a brace that is not closed,
/// and D004 for a key that stands twice; of JSON J0xx.
ConfigEntries read_yaml_map(std::string_view text, const std::string& file);

/// "name: value" on a line of its own, behind blanks or the dash of an item.
struct YamlKey {
  std::string name;
  std::size_t indent = 0;
  int line = 0;
};
/// Of a text that may be anything else.
std::vector<YamlKey> yaml_keys(const std::string& text);

}  // namespace plait
