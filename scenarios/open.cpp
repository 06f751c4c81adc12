#include "scenarios/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <string_view>

#include "core/parse_number.h"
#include "core/split.h"
#include "scenarios/framework.h"
#include "scenarios/overrides.h"
#include "scenarios/resolve.h"

namespace plait {
namespace {

constexpr std::string_view kAuto = "auto";
constexpr std::int64_t kLongestRange = 1 << 16;

bool is_range(const std::string& text) {
  static const std::regex range(R"(\d{1,9}\.\.\d{1,9})");
  return std::regex_match(text, range);
}
bool is_range(const Json& json) { return json.is(Json::Kind::kText) && is_range(json.text()); }

bool is_open(const Json& json) {
  const bool automatic = json.is(Json::Kind::kText) && json.text() == kAuto;
  return automatic || json.is(Json::Kind::kList) || is_range(json);
}

bool holds_open(const Json& json) {
  return is_open(json) ||
         std::ranges::any_of(json.children(), [](const Json* each) { return holds_open(*each); });
}

/// Sections for which a text may stand, and what it says then.
constexpr std::pair<const char*, const char*> kSections[] = {{"strategy.pipeline", "schedule"},
                                                             {"strategy.recompute", "kind"}};

/// A section that is no object says what its text stands for, or leaves it open.
void open_sections(JsonDocument& document) {
  for (const auto& [section, key] : kSections) {
    const Json* json = document.root().find_path(section);
    if (json == nullptr) continue;
    if (json->is(Json::Kind::kText) || is_open(*json)) document.wrap(split_path(section), key);
  }
}

std::string text_of(const Json& json) {
  switch (json.kind()) {
    case Json::Kind::kBool: return json_bool(json.boolean());
    case Json::Kind::kInteger: return fmt::format("{}", json.integer());
    case Json::Kind::kText: return json.text();
    default: refuse_type(json, "a value of this field, a list of such, a range or \"auto\"");
  }
}

/// A number, then what joins numbers, then both and blanks. (A regular expression would recurse
/// over a text of any length.)
bool looks_like_several(std::string_view text) {
  text = trimmed(text);
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return false;
  const std::string_view rest = trimmed(text.substr(digits));
  const bool joined =
      !rest.empty() && std::string_view("-,;:").find(rest.front()) != std::string_view::npos;
  return joined && rest.find_first_not_of("-+*,;:. \t\n\r0123456789") == std::string_view::npos;
}

/// S049: "2,4", "2-8" and "2-8*2", which -L takes, are no list and no range here.
void refuse_other_notation(const Json& json) {
  if (!json.is(Json::Kind::kText) || !looks_like_several(json.text())) return;
  throw InputError(
      {.code = "S049",
       .problem = fmt::format("{} cannot be \"{}\"", json.path(), json.text()),
       .where = json.where(),
       .expected = "a number, or several: a list [2,4,8], a range \"2..8\", or \"auto\"",
       .cure = ""});
}

std::vector<std::string> values_of(const Json& json) {
  std::vector<std::string> out;
  if (json.is(Json::Kind::kList)) {
    if (json.children().empty()) refuse_type(json, "a list of at least one value");
    for (const Json* each : json.children()) out.push_back(text_of(*each));
  } else if (is_range(json)) {
    const std::string& text = json.text();
    const std::int64_t first = std::stoll(text),
                       last = std::stoll(text.substr(text.find("..") + 2));
    if (first > last || last - first > kLongestRange) {
      refuse_range(json, fmt::format("a range \"first..last\" of at most {} sizes", kLongestRange));
    }
    for (std::int64_t v = first; v <= last; ++v) out.push_back(fmt::format("{}", v));
  } else {
    refuse_other_notation(json);
    out.push_back(text_of(json));
  }
  return out;
}

/// It is of each layout: what is not open alone need not divide by it. 0: it is not given.
std::int64_t take_stages_per_node(JsonDocument& document) {
  const Json* json = document.root().find_path("placement.stages_per_node");
  if (json == nullptr || !json->is(Json::Kind::kInteger) || json->integer() < 1) return 0;
  const std::int64_t out = json->integer();
  document.remove({"placement", "stages_per_node"});
  return out;
}

/// Bounds know collectives of equals.
void refuse_parameter_server(const Scenario& scenario) {
  if (!scenario.strategy.parameter_server.any()) return;
  throw locate(
      InputError(
          {.code = "S114",
           .problem = "a search of layouts with parameter servers is not planned",
           .where = Where{"", 0, 0, "strategy.parameter_server"},
           .expected = "data-parallel ranks that are alike",
           .cure = "compare them with `plait compare -L strategy.parameter_server.servers=1,2,4`"}),
      scenario);
}

/// The size of the axis, where one is given.
std::int64_t given_size(const OpenScenario& open, Axis axis) {
  const SearchField* field = open.find(fmt::format("strategy.{}", name_of(axis)));
  if (field == nullptr || field->all || field->values.size() != 1) return 1;
  return parse_number<std::int64_t>(field->values.front()).value_or(1);
}

bool is_axis(const std::string& path) {
  return std::ranges::any_of(
      kAxisNames, [&](std::string_view axis) { return path == fmt::format("strategy.{}", axis); });
}

}  // namespace

bool OpenScenario::leaves_open() const { return std::ranges::any_of(fields, &SearchField::open); }

const SearchField* OpenScenario::find(const std::string& path) const {
  const auto found = std::ranges::find(fields, path, &SearchField::path);
  return found == fields.end() ? nullptr : &*found;
}

const std::vector<std::string>& search_paths() {
  static const std::vector<std::string> paths = searchable_paths(scenario_shape());
  return paths;
}

OpenScenario parse_open_scenario(const std::string& text, const std::string& file,
                                 const std::vector<Override>& overrides) {
  auto document = std::make_shared<JsonDocument>(changed_document(text, file, overrides));
  const std::int64_t stages_per_node = take_stages_per_node(*document);
  open_sections(*document);
  OpenScenario out;
  for (const std::string& path : search_paths()) {
    const Json* json = document->root().find_path(path);
    if (json == nullptr) continue;
    SearchField field{path, json->where(), false, false, {}};
    field.all = json->is(Json::Kind::kText) && json->text() == kAuto;
    if (!field.all) field.values = values_of(*json);
    field.listed = !field.all && is_open(*json);
    // The axes need not multiply to the devices before they are chosen.
    if (field.open() || is_axis(path)) document->remove(split_path(path));
    out.fields.push_back(std::move(field));
  }
  out.scenario = read_scenario(document, file, overrides);
  out.scenario.strategy.mesh[Axis::kPp] = given_size(out, Axis::kPp);
  out.scenario.placement_rule.stages_per_node = stages_per_node;
  out.scenario.overlap_ends_with = deciding_sizes(*out.scenario.source, "strategy.data.overlap");
  require_training(out.scenario);
  refuse_parameter_server(out.scenario);
  return out;
}

void refuse_open_value(const std::string& path, const std::string& value) {
  const std::vector<std::string>& paths = search_paths();
  if (std::ranges::count(paths, canonical_path(path)) == 0) return;
  if (value != kAuto && !is_range(value)) return;
  throw InputError({.code = "G004",
                    .problem = fmt::format("-L {0}={1} fixes {0} at no value", path, value),
                    .where = {},
                    .expected = "values that it has one after the other: 2,4,8 or 2-8*2",
                    .cure = fmt::format("--set {}={} lets the search choose", path, value)});
}

void refuse_open_fields(const Json& root) {
  if (!holds_open(root)) return;  // of most: without a look at all that can be searched
  const bool serves = root.find_path("serving") != nullptr;
  std::vector<std::string> paths = search_paths();
  for (const auto& [section, key] : kSections) paths.emplace_back(section);
  for (const std::string& path : paths) {
    const Json* json = root.find_path(path);
    if (json == nullptr || !is_open(*json)) continue;
    throw InputError(
        {.code = "S048",
         .problem = fmt::format("{} is left open: {}", path, json->describe()),
         .where = json->where(),
         .expected = serves ? "one value: what serves is compared and not searched"
                            : "one value: only `plait search` chooses among several",
         .cure = (serves ? "run `plait serve` with -L " : "run `plait search`, or --set ") + path +
                 (serves ? "=VALUE,VALUE" : "=VALUE")});
  }
}

}  // namespace plait
