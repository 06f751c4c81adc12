#include "core/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/file.h"
#include "core/json_builder.h"
#include "core/split.h"

namespace plait {

namespace {

bool is_utf8(const std::string& text) {
  // Of a byte that is none, one way of writing has a sign and the other nothing.
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore) ==
         json_quote(text);
}

/// Printable ASCII that needs no escape: nearly every key and name.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

[[noreturn]] void refuse_index(const Json& list, const std::string& key,
                               const std::string& origin) {
  const std::string path = list.path();
  const Where where{origin, 0, 0, path};
  throw InputError({.code = "F005",
                    .problem = fmt::format("{} has no element \"{}\"", path, key),
                    .where = where,
                    .expected = fmt::format("an index below {}", list.children().size())});
}

}  // namespace

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
  if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
  return text;
}

bool Json::boolean() const {
  PLAIT_CHECK(kind_ == Kind::kBool, path() + " is no bool");
  return std::get<bool>(value_);
}

std::int64_t Json::integer() const {
  PLAIT_CHECK(kind_ == Kind::kInteger, path() + " is no integer");
  return std::get<std::int64_t>(value_);
}

double Json::number() const {
  if (kind_ == Kind::kInteger) return static_cast<double>(std::get<std::int64_t>(value_));
  PLAIT_CHECK(kind_ == Kind::kNumber, path() + " is no number");
  return std::get<double>(value_);
}

const std::string& Json::text() const {
  PLAIT_CHECK(kind_ == Kind::kText, path() + " is no text");
  return std::get<std::string>(value_);
}

const Json* Json::find(std::string_view key) const {
  if (kind_ != Kind::kObject) return nullptr;
  const auto found =
      std::find_if(children_.begin(), children_.end(), [&](Json* c) { return c->key_ == key; });
  return found == children_.end() ? nullptr : *found;
}

const Json* Json::find_path(std::string_view path) const {
  const Json* at = this;
  for (const std::string& step : split_path(path)) {
    if (at != nullptr) at = at->find(step);
  }
  return at;
}

const Json& Json::innermost(std::string_view path) const {
  const Json* at = this;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('.'), path.size());
    const Json* next = at->find(path.substr(0, end));
    if (next == nullptr) break;
    at = next;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return *at;
}

std::string Json::path() const {
  if (parent_ == nullptr) return "";
  std::string step = key_;
  if (parent_->kind_ == Kind::kList) {
    const auto& all = parent_->children_;
    step = std::to_string(std::find(all.begin(), all.end(), this) - all.begin());
  }
  const std::string above = parent_->path();
  return above.empty() ? step : above + "." + step;
}

Where Json::where() const { return {*origin_, line_, column_, path()}; }

Where Json::key_where() const { return {*origin_, key_line_, key_column_, path()}; }

std::string Json::describe() const {
  constexpr std::size_t kLongest = 40;
  switch (kind_) {
    case Kind::kNull: return "null";
    case Kind::kBool: return json_bool(boolean());
    case Kind::kInteger: return fmt::format("the integer {}", integer());
    case Kind::kNumber: return fmt::format("the number {}", number());
    case Kind::kText:
      if (text().size() > kLongest) return "a long text";
      return "the text " + json_quote(text());
    case Kind::kList: return "a list";
    case Kind::kObject: return "an object";
  }
  return "?";
}

Json* JsonDocument::add(const Json* parent) {
  Json& json = values_.emplace_back();
  json.parent_ = parent;
  return &json;
}

Json* JsonDocument::member(Json* object, const std::string& key, const std::string* origin) {
  if (object->kind_ == Json::Kind::kList) {
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    const bool index = !key.empty() && key.size() < 8 && std::all_of(key.begin(), key.end(), digit);
    const std::size_t i = index ? std::stoul(key) : object->children_.size();
    if (i >= object->children_.size()) refuse_index(*object, key, *origin);
    return object->children_[i];
  }
  for (Json* child : object->children_) {
    if (child->key_ == key) return child;
  }
  object->kind_ = Json::Kind::kObject;
  object->value_ = {};
  Json* child = add(object);
  child->key_ = key;
  child->origin_ = origin;
  return object->children_.emplace_back(child);
}

Json* JsonDocument::at(const std::vector<std::string>& path) {
  Json* json = root_;
  for (const std::string& key : path) json = member(json, key, json->origin_);
  return json;
}

void JsonDocument::set(const std::vector<std::string>& path, const std::string& text,
                       const std::string& origin) {
  const std::string* place = &origins_.emplace_back(origin);
  Json* json = root_;
  for (const std::string& key : path) json = member(json, key, place);
  json->origin_ = place;
  json->line_ = json->column_ = 0;
  json->children_.clear();
  JsonBuilder builder(*this, text, place, JsonBuilder::Positions::kUnknown);
  if (builder.parses()) {
    builder.build(json);
    return;
  }
  if (!is_utf8(text)) {
    throw InputError({.code = "J009",
                      .problem = "the text is not UTF-8",
                      .where = {origin.substr(0, origin.find('=')), 0, 0, ""},
                      .expected = "UTF-8",
                      .cure = "write it as UTF-8"});
  }
  if (text.starts_with('{') || text.starts_with('['))
    parse_json(text, origin);  // which says why not
  json->kind_ = Json::Kind::kText;
  json->value_ = text;
}

void JsonDocument::remove(const std::vector<std::string>& path) {
  const Json* json = at(path);
  std::erase(at({path.begin(), path.end() - 1})->children_, json);
}

void JsonDocument::wrap(const std::vector<std::string>& path, const std::string& key) {
  Json* json = at(path);
  const Json::Kind kind = std::exchange(json->kind_, Json::Kind::kObject);
  auto value = std::exchange(json->value_, {});
  std::vector<Json*> children = std::exchange(json->children_, {});
  Json* child = member(json, key, json->origin_);
  child->kind_ = kind, child->value_ = std::move(value), child->children_ = std::move(children);
  for (Json* each : child->children_) each->parent_ = child;
  child->line_ = json->line_;
  child->column_ = json->column_;
}

std::vector<std::string> split_path(std::string_view path) { return split(path, '.'); }

JsonDocument parse_json(std::string_view text, const std::string& file) {
  if (text.size() > kMostBytes) {
    throw InputError({.code = "J004",
                      .problem = fmt::format("{} is larger than {} MiB", file, kMostBytes >> 20),
                      .where = {file, 1, 1, ""}});
  }
  JsonDocument document;
  const std::string* place = &document.origins_.emplace_back(file);
  document.root_ = document.add(nullptr);
  JsonBuilder(document, text, place, JsonBuilder::Positions::kCounted).build(document.root_);
  return document;
}

JsonDocument read_json_file(const std::string& path) {
  return parse_json(read_text_file(path), input_name(path));
}

std::string json_quote(std::string_view text) {
  if (is_plain(text)) return fmt::format("\"{}\"", text);
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_number(double value) { return fmt::format("{}", value); }

std::string json_bool(bool value) { return value ? "true" : "false"; }

std::string json_object(std::vector<JsonMember> members, bool sorted) {
  if (sorted) std::ranges::sort(members, {}, &JsonMember::key);
  std::string out = "{";
  for (const JsonMember& m : members) {
    if (out.size() > 1) out += ",";
    out += json_quote(m.key) + ":" + m.value;
  }
  return out + "}";
}

std::string json_list(const std::vector<std::string>& values) {
  return fmt::format("[{}]", fmt::join(values, ","));
}

std::string json_pretty(const std::string& compact) {
  return nlohmann::ordered_json::parse(compact).dump(2);
}

}  // namespace plait
