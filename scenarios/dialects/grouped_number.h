#pragma once
// Numbers whose digits are grouped, 220_000_000: as Python's int() and float() (PEP 515), TOML and
// YAML 1.1 take them.

#include <optional>
#include <string>
#include <string_view>

#include "core/parse_number.h"

namespace plait {

/// Without the "_" between digits; any other stays.
std::string without_groups(std::string_view text);

template <class T>
std::optional<T> parse_grouped_number(std::string_view text) {
  return parse_number<T>(without_groups(text));
}

}  // namespace plait
