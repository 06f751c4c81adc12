#include "model/hf_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/spelling.h"

namespace plait {
namespace {

[[noreturn]] void fail_value(const Json& value, const std::string& expected) {
  throw InputError({.code = "M005",
                    .problem = fmt::format("{} is {}", value.key(), value.describe()),
                    .where = value.where(),
                    .expected = expected});
}

}  // namespace

void refuse_config(const Json& key, const std::string& what) {
  throw InputError({.code = "M004",
                    .problem = fmt::format("{} not yet planned (key {})", what, key.key()),
                    .where = key.where(),
                    .expected = "a decoder-only transformer without it",
                    .cure = "describe the nearest model in the scenario itself"});
}

std::size_t find_word(const std::vector<std::string>& names, const std::string& word,
                      std::string_view key, const Where& where) {
  const auto found = std::find(names.begin(), names.end(), word);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw InputError({.code = "M007",
                    .problem = fmt::format("{} \"{}\" is unknown", key, word),
                    .where = where,
                    .expected = fmt::format("one of {}", fmt::join(names, ", ")),
                    .cure = did_you_mean(word, names, "")});
}

HfReader::HfReader(const Json& root) : root_(root) {
  if (!root.is(Json::Kind::kObject))
    throw InputError({.code = "M001",
                      .problem = "the model configuration is " + root.describe(),
                      .where = root.where(),
                      .expected = "an object with the keys of a Hugging Face config.json"});
  if (const Json* nested = root.find("text_config")) {
    if (!nested->is(Json::Kind::kObject)) fail_value(*nested, "an object");
    used_.push_back(nested);
    scopes_.push_back(nested);
  }
  scopes_.push_back(&root);
}

HfReader HfReader::inside(std::string_view name) {
  static const JsonDocument kEmpty = parse_json("{}", "");
  const Json* object = take({name});
  return HfReader(object == nullptr ? kEmpty.root() : *object);
}

const Json* HfReader::peek(std::string_view name) const {
  for (const Json* scope : scopes_)
    if (const Json* found = scope->find(name)) return found;
  return nullptr;
}

const Json* HfReader::take(Names names) {
  for (const std::string_view name : names)
    if (const Json* found = peek(name)) {
      used_.push_back(found);
      return found;
    }
  return nullptr;
}

const Json* HfReader::value_of(Names names, const std::string& fallback) {
  const Json* found = take(names);
  if (found != nullptr && !found->is(Json::Kind::kNull)) return found;
  assume(*names.begin(), fallback);
  return nullptr;
}

std::int64_t HfReader::integer(Names names, std::int64_t least, std::int64_t limit,
                               std::int64_t fallback) {
  const Json* value = value_of(names, std::to_string(fallback));
  if (value == nullptr) return fallback;
  if (!value->is(Json::Kind::kInteger) || value->integer() < least || value->integer() > limit)
    fail_value(*value, fmt::format("an integer from {} to {}", least, limit));
  return value->integer();
}

std::int64_t HfReader::size(Names names, std::int64_t limit, std::int64_t fallback) {
  return integer(names, 1, limit, fallback);
}

std::int64_t HfReader::count(Names names, std::int64_t limit, std::int64_t fallback) {
  return integer(names, 0, limit, fallback);
}

bool HfReader::flag(Names names, bool fallback) {
  const Json* value = value_of(names, json_bool(fallback));
  if (value == nullptr) return fallback;
  if (!value->is(Json::Kind::kBool)) fail_value(*value, "true or false");
  return value->boolean();
}

double HfReader::probability(Names names, double fallback) {
  const Json* value = value_of(names, fmt::format("{}", fallback));
  if (value == nullptr) return fallback;
  const bool numeric = value->is(Json::Kind::kInteger) || value->is(Json::Kind::kNumber);
  if (!numeric || value->number() < 0 || value->number() >= 1)
    fail_value(*value, "a number from 0 to below 1");
  return value->number();
}

double HfReader::fraction(Names names, double fallback) {
  const Json* value = value_of(names, fmt::format("{}", fallback));
  if (value == nullptr) return fallback;
  const bool numeric = value->is(Json::Kind::kInteger) || value->is(Json::Kind::kNumber);
  if (!numeric || value->number() <= 0 || value->number() > 1)
    fail_value(*value, "a number above 0, at most 1");
  return value->number();
}

std::string HfReader::word(Names names, std::string_view fallback) {
  const Json* value = value_of(names, std::string(fallback));
  if (value == nullptr) return std::string(fallback);
  if (!value->is(Json::Kind::kText)) fail_value(*value, "a text");
  return value->text();
}

void HfReader::assume(std::string_view name, const std::string& value) {
  // A family that reads a key again has a default of its own.
  std::erase_if(assumed_, [&](const std::string& said) {
    return said.starts_with(fmt::format("{} = ", name));
  });
  assumed_.push_back(fmt::format("{} = {}", name, value));
}

std::vector<std::string> HfReader::unused() const {
  std::vector<std::string> paths;
  const auto note_if_unused = [&](const Json* key) {
    const bool used = std::find(used_.begin(), used_.end(), key) != used_.end();
    if (!used && !key->is(Json::Kind::kNull)) paths.push_back(key->path());
  };
  const Json* text = scopes_.front();
  const auto is_repeated = [&](const Json* key) {  // as saved files do
    const Json* inner = text == &root_ ? nullptr : text->find(key->key());
    return inner != nullptr && inner->describe() == key->describe();
  };
  for (const Json* key : root_.children()) {
    if (!is_repeated(key)) note_if_unused(key);
    if (key == text)
      for (const Json* inner : key->children()) note_if_unused(inner);
  }
  return paths;
}

}  // namespace plait
