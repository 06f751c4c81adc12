#include "prediction/search/idle_in_best.h"

#include <algorithm>
#include <string_view>

#include "scenarios/open.h"
#include "scenarios/scenario.h"

namespace plait {
namespace {

constexpr std::string_view kBefore = "W001: ", kBehind = " has no effect";

/// Of a warning W001; "" of another.
std::string_view field_of(std::string_view warning) {
  const std::size_t end = warning.find(kBehind);
  if (!warning.starts_with(kBefore) || end == std::string_view::npos) return "";
  return warning.substr(kBefore.size(), end - kBefore.size());
}

/// The field, one of its section, or the section that it is in.
bool is_searched(std::string_view field) {
  const auto holds = [](std::string_view section, std::string_view path) {
    return path.starts_with(section) &&
           (path.size() == section.size() || path[section.size()] == '.');
  };
  return std::ranges::any_of(search_paths(), [&](const std::string& path) {
    return holds(field, path) || holds(path, field);
  });
}

/// Of the scenario as it is with this layout.
std::vector<std::string> idle_in(const SearchQuestion& q, const SearchRow& row) {
  std::vector<Override> sets = q.sets;
  for (const Assignments* more : {&row.machine, &row.settings}) {
    sets.insert(sets.end(), more->begin(), more->end());
  }
  std::vector<std::string> out = parse_scenario(q.text, q.file, sets).warnings;
  std::erase_if(out, [](const std::string& warning) {
    const std::string_view field = field_of(warning);
    return field.empty() || is_searched(field);
  });
  return out;
}

}  // namespace

std::vector<std::string> idle_in_best(const SearchQuestion& q, const std::vector<SearchRow>& best) {
  if (best.empty()) return {};
  std::vector<std::string> out = idle_in(q, best.front());
  for (std::size_t i = 1; i < best.size() && !out.empty(); ++i) {
    const std::vector<std::string> here = idle_in(q, best[i]);
    std::erase_if(out, [&here](const std::string& warning) {
      return std::ranges::none_of(
          here, [&](const std::string& other) { return field_of(other) == field_of(warning); });
    });
  }
  return out;
}

}  // namespace plait
