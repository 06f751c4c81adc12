#include "scenarios/overrides.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/error.h"
#include "core/json.h"
#include "core/parse_number.h"
#include "core/split.h"
#include "core/units.h"
#include "scenarios/fields.h"

namespace plait {
std::string canonical_path(const std::string& path) {
  const auto found = std::ranges::find(kOtherNames, path, &OtherName::name);
  return found == kOtherNames.end() ? path : std::string(found->path);
}

std::string place_of(const Override& given) {
  return fmt::format("{} {}={}", given.option, given.path, with_quotes(given.value));
}

void refuse_unknown_other_name(const Override& given) {
  const std::string& path = given.path;
  std::vector<std::string> names, real;
  for (const OtherName& n : kOtherNames) {
    const std::string_view above = n.name.substr(0, n.name.rfind('.'));
    if (path == n.name) return;
    if (path != above && !path.starts_with(std::string(above) + ".")) continue;
    names.emplace_back(n.name);
    const std::string object(n.path.substr(0, n.path.rfind('.')));
    if (std::ranges::find(real, object) == real.end()) real.push_back(object);
  }
  if (names.empty()) return;
  throw InputError({.code = "F005",
                    .problem = fmt::format("the scenario has no field \"{}\"", path),
                    .where = {place_of(given), 0, 0, path},
                    .expected = fmt::format("{}", fmt::join(names, " or ")),
                    .cure = fmt::format("or set a field of {}", fmt::join(real, " or "))});
}

/// A name as scenarios have them, 1f1b and zb-h1 too; no number and no word of JSON.
bool is_word(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const bool json = text == "true" || text == "false" || text == "null";
  const auto in_name = [&](char c) {
    return kLetters.find(c) != std::string_view::npos || (c >= '0' && c <= '9') || c == '-' ||
           c == '.';
  };
  return !json && std::ranges::all_of(text, in_name) && !parse_number<double>(text) &&
         text.find_first_of(kLetters) != std::string_view::npos;
}

/// "[none, 1f1b]" as "["none","1f1b"]". (A regular expression would recurse over a text of any
/// length.)
std::string with_quotes(const std::string& value) {
  if (!value.starts_with('[') || !value.ends_with(']')) return value;
  std::vector<std::string> words;
  for (const std::string_view part :
       split(std::string_view(value).substr(1, value.size() - 2), ',')) {
    const std::string_view word = trimmed(part);
    if (!is_word(word)) return value;
    words.push_back(json_quote(word));
  }
  return json_list(words);
}

bool is_continuous(const std::string& path) {
  Shape at = scenario_shape();
  for (const std::string& step : split_path(canonical_path(path))) {
    if (!at.element.empty()) {
      at = Shape(at.element.front());  // `step` is an index
      continue;
    }
    const auto found = std::ranges::find(at.properties, step, &Property::key);
    if (found == at.properties.end()) return false;  // refused when it is set
    at = Shape(found->shape);
  }
  // A quantity is a text of this pattern, or such a text with its source.
  return at.schema.find(R"("pattern")") != std::string::npos ||
         at.schema.find(R"("type":"number")") != std::string::npos;
}

std::optional<std::string> resolved_value(const Scenario& scenario, const std::string& path) {
  const std::string canonical = canonical_path(path);
  if (canonical == "cluster.device.nvlink_bandwidth") {
    return exact_text(scenario.cluster.device.nvlink_bandwidth());
  }
  const nlohmann::json root = nlohmann::json::parse(scenario.canonical_json);
  const nlohmann::json* at = &root;
  for (const std::string& step : split_path(canonical)) {
    if (!at->is_object() || !at->contains(step)) return std::nullopt;
    at = &at->at(step);
  }
  if (at->is_object()) return std::nullopt;
  return at->is_string() ? at->get<std::string>() : at->dump();
}

}  // namespace plait
