#include "core/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/spelling.h"

namespace plait {
namespace {

/// "workload.precision" and "one of its keys" for messages; the root has no path.
std::string object_name(const Json& json) {
  return json.path().empty() ? "the top level" : json.path();
}

std::string property_schema(const Property& p) {
  std::string schema = schema_of(p.shape);
  if (p.searchable) {
    schema = fmt::format(
        R"({{"anyOf":[{},{{"enum":["auto"]}},{{"type":"array","minItems":1,"items":{}}},)"
        R"({{"type":"string","pattern":"^[0-9]+[.][.][0-9]+$"}}]}})",
        schema, schema);
  }
  schema.pop_back();
  const std::string comma = schema.size() > 1 ? "," : "";
  schema += comma + R"("description":)" + json_quote(p.doc);
  // An object's is that of its properties, some of which cannot be written: "as many as fit".
  const bool has_own = p.need == Need::kDefault && p.shape.properties.empty();
  if (has_own) schema += R"(,"default":)" + p.fallback;
  return schema + "}";
}

const Property* find_property(const Shape& shape, const std::string& key) {
  const auto found = std::ranges::find(shape.properties, key, &Property::key);
  return found == shape.properties.end() ? nullptr : &*found;
}

std::vector<std::string> property_keys(const Shape& shape) {
  std::vector<std::string> keys;
  for (const Property& p : shape.properties) keys.push_back(p.key);
  return keys;
}

std::string key_cure(const std::string& key, const std::vector<std::string>& keys) {
  const std::string meant = did_you_mean(key, keys);
  return meant.empty() ? fmt::format("use one of {}", fmt::join(keys, ", ")) : meant;
}

/// Dotted paths of the fields that are called `key`, wherever they stand.
void add_fields_called(const std::string& key, const Shape& shape, const std::string& prefix,
                       std::vector<std::string>& out) {
  for (const Property& p : shape.properties) {
    if (p.key == key) out.push_back(prefix + p.key);
    add_fields_called(key, p.shape, prefix + p.key + ".", out);
  }
}

/// For a path that fails at `step`: the field of that name elsewhere, "tp" for "strategy.tp".
std::string path_cure(const std::string& step, const Shape& at, const Shape& root) {
  std::vector<std::string> elsewhere;
  add_fields_called(step, root, "", elsewhere);
  if (elsewhere.empty()) return key_cure(step, property_keys(at));
  std::ranges::stable_sort(elsewhere, {},
                           [](const std::string& p) { return std::ranges::count(p, '.'); });
  return fmt::format("did you mean \"{}\"?", elsewhere.front());
}

/// The value at `steps`, or nullptr.
const Json* locate(const Json& root, const std::vector<std::string>& steps) {
  const Json* json = &root;
  for (const std::string& step : steps) {
    if (json != nullptr) json = json->find(step);
  }
  return json;
}

/// A text that stands for an object, or a list of such to choose from, becomes one; what else is no
/// object cannot have members.
void open_text(JsonDocument& document, const Shape& shape, const Json& json,
               const std::vector<std::string>& path) {
  if (shape.properties.empty() || json.is(Json::Kind::kObject)) return;
  const bool stands = json.is(Json::Kind::kText) || json.is(Json::Kind::kList);
  if (!stands || shape.shorthand.empty()) refuse_type(json, shape.expectation);
  document.wrap(path, shape.shorthand);
}

std::string fallback_cell(const Property& p) {
  switch (p.need) {
    case Need::kRequired: return "**required**";
    case Need::kDefault: return p.shape.name.empty() ? fmt::format("`{}`", p.fallback) : "";
    case Need::kDescribed: return p.fallback;
  }
  return "";
}

/// A struct that stands in several places is described once.
std::string reference_of(const Shape& shape, std::set<std::string>& described) {
  std::string out = fmt::format("## {}\n\n", shape.name);
  if (!shape.shorthand.empty()) {
    out += fmt::format("A text alone stands for `{}`.\n\n", shape.shorthand);
  }
  out += "| key | value | default | meaning |\n|---|---|---|---|\n";
  std::string below;
  for (const Property& p : shape.properties) {
    const Shape& inner = p.shape.element.empty() ? p.shape : p.shape.element.front();
    out += fmt::format("| `{}`{} | {} | {} | {} |\n", p.key, p.searchable ? " *" : "",
                       p.shape.expectation, fallback_cell(p), p.doc);
    if (inner.properties.empty() || !described.insert(inner.name).second) continue;
    below += fmt::format("\n{}", reference_of(inner, described));
  }
  return out + below;
}

}  // namespace

std::string schema_of(const Shape& shape) {
  if (!shape.element.empty()) {
    return fmt::format(R"({{"type":"array","items":{}}})", schema_of(shape.element.front()));
  }
  if (shape.properties.empty()) return shape.schema;
  std::vector<JsonMember> properties;
  std::vector<std::string> required;
  for (const Property& p : shape.properties) {
    properties.push_back({p.key, property_schema(p)});
    if (p.need == Need::kRequired) required.push_back(json_quote(p.key));
  }
  std::string object = R"({"type":"object","additionalProperties":false,"properties":)" +
                       json_object(std::move(properties), false);
  if (!required.empty()) object += R"(,"required":)" + json_list(required);
  object += "}";
  if (shape.shorthand.empty()) return object;
  const Property* alone = find_property(shape, shape.shorthand);
  return fmt::format(R"({{"anyOf":[{},{}]}})", schema_of(alone->shape), object);
}

std::string schema_document(const Shape& shape, const std::string& title) {
  std::string schema = schema_of(shape);
  schema.erase(0, 1);
  return json_pretty(R"({"$schema":"http://json-schema.org/draft-07/schema#","title":)" +
                     json_quote(title) + "," + schema);
}

std::string reference_of(const Shape& shape) {
  std::set<std::string> described;
  return reference_of(shape, described);
}

void apply_override(JsonDocument& document, const Shape& shape, const std::string& path,
                    const std::string& text, const std::string& origin) {
  const std::vector<std::string> steps = split_path(path);
  std::vector<std::string> walked;
  const Shape* at = &shape;
  for (const std::string& step : steps) {
    const Json* json = locate(document.root(), walked);
    if (json != nullptr) open_text(document, *at, *json, walked);
    if (!at->element.empty() && json != nullptr && json->is(Json::Kind::kList)) {
      at = &at->element.front();  // set() checks the index
    } else if (const Property* p = find_property(*at, step)) {
      at = &p->shape;
    } else {
      const std::string above = fmt::format("{}", fmt::join(walked, "."));
      const bool leaf = at->properties.empty();
      throw InputError({.code = "F005",
                        .problem = fmt::format("{} has no field \"{}\"",
                                               above.empty() ? "the scenario" : above, step),
                        .where = {origin, 0, 0, path},
                        .expected = leaf ? above + " is " + at->expectation : "",
                        .cure = leaf ? "" : path_cure(step, *at, shape)});
    }
    walked.push_back(step);
  }
  document.set(steps, text, origin);
}

void add_searchable(const Shape& shape, const std::string& prefix, std::vector<std::string>& out) {
  for (const Property& p : shape.properties) {
    if (p.searchable) out.push_back(prefix + p.key);
    add_searchable(p.shape, prefix + p.key + ".", out);
  }
}

std::vector<std::string> searchable_paths(const Shape& shape) {
  std::vector<std::string> out;
  add_searchable(shape, "", out);
  return out;
}

void refuse_unknown_keys(const Json& object, const std::vector<std::string>& keys) {
  for (const Json* member : object.children()) {
    if (std::ranges::find(keys, member->key()) != keys.end()) continue;
    throw InputError({.code = "F001",
                      .problem = fmt::format("unknown key {} in {}", json_quote(member->key()),
                                             object_name(object)),
                      .where = member->key_where(),
                      .expected = "",
                      .cure = key_cure(member->key(), keys)});
  }
}

void refuse_missing(const Json& object, const std::vector<MissingKey>& missing) {
  const bool one = missing.size() == 1;
  std::vector<std::string> names;
  std::vector<std::string> expected;
  for (const MissingKey& m : missing) {
    names.push_back(json_quote(m.key));
    expected.push_back((one ? "" : names.back() + ": ") + m.expectation);
  }
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  throw InputError(
      {.code = "F002",
       .problem = fmt::format("{} {} missing in {}", all, one ? "is" : "are", object_name(object)),
       .where = object.where(),
       .expected = fmt::format("{}", fmt::join(expected, "; ")),
       .cure = fmt::format("add {} to {}", all, object_name(object))});
}

void refuse_type(const Json& json, const std::string& expectation, const std::string& cure) {
  throw InputError({.code = "F003",
                    .problem = fmt::format("{} is {}", object_name(json), json.describe()),
                    .where = json.where(),
                    .expected = expectation,
                    .cure = cure});
}

void refuse_range(const Json& json, const std::string& expectation) {
  throw InputError({.code = "U004",
                    .problem = fmt::format("{} is {}, out of range", json.path(), json.describe()),
                    .where = json.where(),
                    .expected = expectation});
}

void refuse_choice(const Json& json, const std::vector<std::string>& names) {
  constexpr std::size_t kMostNamed = 24;  // more hide the one that was meant
  const std::string meant = did_you_mean(json.text(), names);
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + json_quote(name);
  if (!meant.empty() && names.size() > kMostNamed)
    all = fmt::format("{} names that plait list prints", names.size());
  throw InputError({.code = "F004",
                    .problem = fmt::format("{} cannot be {}", json.path(), json.describe()),
                    .where = json.where(),
                    .expected = "one of " + all,
                    .cure = meant});
}

}  // namespace plait
