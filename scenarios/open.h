#pragma once
// Scenarios that leave fields open, for `plait search` to choose: "auto" instead of a value, a list
// of values, or a range of sizes, "2..16".

#include <string>
#include <vector>

#include "core/json.h"
#include "scenarios/scenario.h"

namespace plait {

/// A field that may be searched and that the file, or --set, says something about.
struct SearchField {
  std::string path;  // "strategy.tp"
  Where where;
  bool all = false;                 // "auto"
  bool listed = false;              // as a list or range, be it of one value
  std::vector<std::string> values;  // as --set takes them
  bool open() const { return all || listed; }
};

struct OpenScenario {
  /// What is not open, on one device per replica: the sizes of the axes are in `fields` alone, but
  /// for that of pp where it is given, which layers of the first and the last piece go with.
  Scenario scenario;
  std::vector<SearchField> fields;
  bool leaves_open() const;
  /// What is said of `path`, or nullptr.
  const SearchField* find(const std::string& path) const;
};

/// Throws as parse_scenario does, F003 for an open field that is none of the three.
OpenScenario parse_open_scenario(const std::string& text, const std::string& file,
                                 const std::vector<Override>& overrides = {});

/// Paths of the fields that may be left open.
const std::vector<std::string>& search_paths();

/// Throws InputError G004 where `value`, to be held fixed by -L, leaves a field open that is
/// searched.
void refuse_open_value(const std::string& path, const std::string& value);

/// Throws InputError S048 for the first field that is left open: such a scenario cannot be run.
void refuse_open_fields(const Json& root);

}  // namespace plait
