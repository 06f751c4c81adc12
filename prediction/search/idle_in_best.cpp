#include "prediction/search/idle_in_best.h"

#include <algorithm>
#include <string_view>

#include "scenarios/open.h"
#include "scenarios/scenario.h"

namespace plait {
namespace {

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
Warnings idle_in(const SearchQuestion& q, const SearchRow& row) {
  std::vector<Override> sets = q.sets;
  for (const Assignments* more : {&row.machine, &row.settings}) {
    sets.insert(sets.end(), more->begin(), more->end());
  }
  Warnings out = parse_scenario(q.text, q.file, sets).warnings;
  std::erase_if(out, [](const Warning& w) {
    return w.code != "W001" || w.path.empty() || is_searched(w.path);
  });
  return out;
}

}  // namespace

Warnings idle_in_best(const SearchQuestion& q, const std::vector<SearchRow>& best) {
  if (best.empty()) return {};
  Warnings out = idle_in(q, best.front());
  for (std::size_t i = 1; i < best.size() && !out.empty(); ++i) {
    const Warnings here = idle_in(q, best[i]);
    std::erase_if(out, [&here](const Warning& w) {
      return std::ranges::find(here, w.path, &Warning::path) == here.end();
    });
  }
  return out;
}

}  // namespace plait
