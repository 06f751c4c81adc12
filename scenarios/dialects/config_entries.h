#pragma once
// The entries of a configuration file, by path, in the order of the file: {"a.b", "4", line 2} of
// TOML, YAML or JSON. What was never asked for is known in the end, so that nothing a file says is
// passed over in silence.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/warning.h"

namespace plait {

struct ConfigEntry {
  std::string path;  // "fsdp_config.fsdp_version"
  std::string text;  // without quotes; a list as it is written; "": it has no value
  int line = 0;
};

class ConfigEntries {
 public:
  explicit ConfigEntries(std::string file) : file_(std::move(file)) {}

  /// Throws InputError D004 where the path is there.
  void add(std::string path, std::string text, int line);
  /// What follows a path that was added without a value.
  void say(std::string_view path, std::string text);
  const std::vector<ConfigEntry>& list() const { return list_; }

  /// The entry; nothing where it is absent or has no value. It counts as read.
  const ConfigEntry* find(std::string_view path);
  /// The first that is there, of names that versions of a program have; all count as read.
  const ConfigEntry* find(std::initializer_list<std::string_view> paths);
  /// Not one of its entries was asked for.
  bool knows_none() const {
    return std::ranges::none_of(asked_, [](char asked) { return asked; });
  }
  /// W007 with all that were not asked for, if any.
  void report_unread(Warnings& warnings) const;

  // Of an entry that was found, or `otherwise` where there is none. Throw InputError D003.

  std::int64_t integer(const ConfigEntry* entry, std::int64_t otherwise, std::int64_t least = 1,
                       std::int64_t most = std::int64_t{1} << 40) const;
  /// true and false, and YAML's yes and no.
  bool flag(const ConfigEntry* entry, bool otherwise) const;
  std::string one_of(const ConfigEntry* entry, const std::vector<std::string>& names,
                     const std::string& otherwise) const;
  /// From 0.
  double number(const ConfigEntry* entry, double otherwise) const;

  Where at(const ConfigEntry& entry) const { return {file_, entry.line, 0, entry.path}; }
  /// D003.
  [[noreturn]] void malformed(const ConfigEntry& entry, const std::string& expected) const;
  /// D006: what it asks for has no counterpart.
  [[noreturn]] void unsupported(const ConfigEntry& entry, const std::string& what) const;

 private:
  std::string file_;
  std::vector<ConfigEntry> list_;
  std::vector<char> asked_;  // of each
};

/// Without its quotes, where it begins and ends with the same ones.
std::string_view strip_quotes(std::string_view text);

}  // namespace plait
