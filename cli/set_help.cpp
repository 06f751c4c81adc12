// --set path=help: what a field accepts, from the schema of scenarios.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/options.h"
#include "core/error.h"
#include "core/json.h"
#include "core/spelling.h"
#include "core/vary.h"
#include "scenarios/open.h"
#include "scenarios/overrides.h"
#include "scenarios/scenario.h"

namespace plait {
namespace {

using Tree = nlohmann::ordered_json;

constexpr std::string_view kHelp = "help";

/// Follows a local reference, and of alternatives takes the one that has most properties: a
/// quantity may be an object too, with its source. Where none has, the first: one value of a field
/// that may be searched, and not several.
const Tree& resolve(const Tree& schema, const Tree& root) {
  const Tree* at = &schema;
  if (const auto ref = at->find("$ref"); ref != at->end()) {
    const std::string pointer = ref->get<std::string>();
    if (pointer.starts_with("#/")) at = &root.at(Tree::json_pointer(pointer.substr(1)));
  }
  for (const char* key : {"anyOf", "oneOf", "allOf"}) {
    const auto alternatives = at->find(key);
    if (alternatives == at->end()) continue;
    const Tree* widest = nullptr;
    std::size_t most = 0;
    for (const Tree& a : *alternatives) {
      const Tree& r = resolve(a, root);
      const std::size_t has = r.contains("properties") ? r["properties"].size() : 0;
      if (has > most) widest = &r, most = has;
    }
    if (widest != nullptr) return *widest;
    if (!alternatives->empty()) return resolve(alternatives->front(), root);
  }
  return *at;
}

std::vector<std::string> keys_of(const Tree& schema) {
  std::vector<std::string> keys;
  if (!schema.contains("properties")) return keys;
  for (const auto& [key, value] : schema["properties"].items()) keys.push_back(key);
  return keys;
}

/// The schema of the field at a dotted path. Throws InputError G006.
const Tree& field_at(const std::string& path, const Tree& root) {
  const Tree* at = &resolve(root, root);
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string key = path.substr(begin, end - begin);
    const std::vector<std::string> keys = keys_of(*at);
    if (!at->contains("properties") || !(*at)["properties"].contains(key)) {
      throw InputError({.code = "G006",
                        .problem = fmt::format("no field '{}' in a scenario", path),
                        .where = {"", 0, 0, path},
                        .expected = fmt::format("one of: {}", fmt::join(keys, ", ")),
                        .cure = did_you_mean(key, keys)});
    }
    at = &(*at)["properties"][key];
    begin = end + 1;
    if (begin <= path.size()) at = &resolve(*at, root);
  }
  return *at;
}

/// What a text alone may be, where it stands for an object: the names of its presets.
const Tree* names_for(const Tree& field) {
  const auto alternatives = field.find("anyOf");
  if (alternatives == field.end()) return nullptr;
  for (const Tree& a : *alternatives) {
    if (a.contains("enum")) return &a["enum"];
  }
  return nullptr;
}

std::string text_of(const Tree& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string listed(const Tree& values) {
  std::vector<std::string> texts;
  for (const Tree& v : values) texts.push_back(text_of(v));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string line_of(const std::string& label, const std::string& text) {
  return fmt::format("  {:<12} {}\n", label, text);
}

/// How `plait search` is asked for several values of the field.
std::string line_of_search(const std::string& path, const Tree& value) {
  if (std::ranges::count(search_paths(), path) == 0) return "";
  const bool counts = value.contains("type") && text_of(value["type"]) == "integer";
  return line_of("searched", counts ? R"(as "auto", a list [1,2] or a range "1..8")"
                                    : R"(as "auto" or a list)");
}

std::string describe(const std::string& path, const Tree& field, const Tree& root) {
  std::string out = path + "\n";
  const Tree& resolved = resolve(field, root);
  const bool is_object = resolved.contains("properties");
  for (const char* key : {"description", "type", "enum", "minimum", "maximum", "default"}) {
    const bool last = std::string(key) == "default";
    if (last) out += line_of_search(path, resolved);
    if (is_object && last) continue;  // each field says its own
    const Tree* from = field.contains(key) ? &field : resolved.contains(key) ? &resolved : nullptr;
    if (from == nullptr) continue;
    const Tree& value = (*from)[key];
    const std::string text = value.is_array() ? listed(value) : text_of(value);
    const std::string label = std::string(key) == "enum" ? "one of" : key;
    out += line_of(label, text);
  }
  const Tree* names = is_object ? names_for(field) : nullptr;
  if (names != nullptr) out += line_of("or one of", listed(*names));
  const std::vector<std::string> keys = keys_of(resolved);
  if (!keys.empty()) out += line_of("fields", fmt::format("{}", fmt::join(keys, ", ")));
  return out;
}

/// The scenario without what asks for help; nothing where it cannot be read: help may be asked for
/// to mend it.
std::optional<Scenario> readable(const ScenarioOptions& options) {
  std::vector<Override> overrides = options.overrides();
  std::erase_if(overrides, [](const Override& o) { return o.value == kHelp; });
  try {
    return load_scenario(options.file, overrides);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::string place_of(const Json* stated) {
  if (stated == nullptr) return "";
  const Where where = stated->where();
  return where.line == 0 ? fmt::format(" ({})", where.file)
                         : fmt::format(" ({}:{}:{})", where.file, where.line, where.column);
}

/// What the scenario has at `path`, stated or not, with its place; "" for sections.
std::string value_line(const Scenario& scenario, const std::string& path) {
  const Json* stated = scenario.source->root().find_path(path);
  if (stated != nullptr && stated->is(Json::Kind::kText))
    return line_of("scenario", stated->text() + place_of(stated));
  const Tree resolved = Tree::parse(scenario.canonical_json);
  const Tree* at = &resolved;
  for (const std::string& key : split_path(path)) {
    if (!at->is_object() || !at->contains(key)) return "";
    at = &at->at(key);
  }
  return at->is_object() ? "" : line_of("scenario", text_of(*at) + place_of(stated));
}

void add_paths(const std::string& prefix, const Tree& field, const Tree& root,
               std::vector<std::string>& out) {
  const Tree& resolved = resolve(field, root);
  if (!resolved.contains("properties")) return;
  for (const auto& [key, value] : resolved["properties"].items()) {
    if (key.starts_with('$')) continue;
    out.push_back(prefix + key);
    add_paths(prefix + key + ".", value, root, out);
  }
}

std::vector<std::string> asked_for(const std::vector<std::string>& sets) {
  std::vector<std::string> out;
  for (const std::string& set : sets) {
    const Override given = split_assignment(set);
    if (given.value == kHelp) out.push_back(given.path);
  }
  return out;
}

std::string help_for(const std::string& path) {
  const Tree root = Tree::parse(scenario_schema());
  return describe(path, field_at(canonical_path(path), root), root);
}

}  // namespace

std::vector<std::string> field_paths() {
  const Tree root = Tree::parse(scenario_schema());
  std::vector<std::string> out;
  add_paths("", root, root, out);
  return out;
}

std::string help_for_sets(const std::vector<std::string>& sets) {
  std::string out;
  for (const std::string& path : asked_for(sets)) out += help_for(path);
  return out;
}

bool print_help_for_sets(const ScenarioOptions& options, const OutputOptions& output) {
  const std::vector<std::string> paths = asked_for(options.sets);
  if (paths.empty()) return false;
  std::vector<std::string> helps;
  for (const std::string& path : paths) helps.push_back(help_for(path));
  const std::optional<Scenario> scenario = readable(options);
  std::string out;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    out += helps[i] + (scenario ? value_line(*scenario, canonical_path(paths[i])) : "");
  }
  print_result(output, out);
  return true;
}

}  // namespace plait
