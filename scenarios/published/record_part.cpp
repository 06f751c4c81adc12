#include "scenarios/published/record_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>

#include "core/parse_number.h"
#include "core/spelling.h"

namespace plait {
namespace {

bool holds_number(const Json& json) {
  return json.is(Json::Kind::kInteger) || json.is(Json::Kind::kNumber);
}

std::string searchable(const Json& json) {
  if (json.is(Json::Kind::kText)) return json.text();
  if (json.is(Json::Kind::kBool)) return json_bool(json.boolean());
  if (holds_number(json)) return json_number(json.number());
  std::string out;
  for (const Json* child : json.children()) {
    out += child->key().empty() ? "" : "--" + child->key() + " ";
    out += searchable(*child) + " ";
  }
  return out;
}

std::string as_written(const Json& json) {
  if (json.is(Json::Kind::kText)) return json_quote(json.text());
  if (json.is(Json::Kind::kBool)) return json_bool(json.boolean());
  return holds_number(json) ? json_number(json.number()) : json.describe();
}

/// "8,192": 8192. Other commas stay: they may be decimal points.
std::string without_commas(std::string text) {
  static const std::regex kGrouped(R"(\d{1,3}(?:,\d{3})+)");
  if (std::regex_match(text, kGrouped)) std::erase(text, ',');
  return text;
}

/// Words are sought in texts by regular expressions, which take a time of their length squared, and
/// stack of it. The longest of the records in docs/accuracy.md has 376 bytes.
constexpr std::size_t kLongestText = 4096;
std::string short_text(const Json& at, std::string text) {
  if (text.size() > kLongestText)
    refuse_record(at, fmt::format("a text of {} bytes", text.size()),
                  fmt::format("up to {}", kLongestText));
  return text;
}

/// Words for what was not published.
bool says_nothing(const std::string& words) {
  constexpr std::array<std::string_view, 6> kUnsaid = {"", "unknown", "n/a", "na", "-", "?"};
  const std::string small = lower_case(words);
  return small.starts_with("not ") || std::ranges::find(kUnsaid, small) != kUnsaid.end();
}

}  // namespace

void refuse_record(const Json& at, const std::string& problem, const std::string& expected) {
  throw InputError(
      {"V001", problem, at.where(), expected, "see docs/validate.md for the format of records"});
}

const Json* RecordPart::find(std::string_view key) {
  asked_.emplace(key);
  const Json* found = json_.find(key);
  return found == nullptr || found->is(Json::Kind::kNull) ? nullptr : found;
}

RecordPart* RecordPart::find_part(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr) return nullptr;
  if (!found->is(Json::Kind::kObject))
    refuse_record(*found, fmt::format("\"{}\" is no object", key), "an object");
  return &parts_.emplace_back(*found);
}

RecordPart& RecordPart::part(std::string_view key) {
  if (RecordPart* found = find_part(key)) return *found;
  refuse_record(json_, fmt::format("a record without \"{}\"", key), "an object");
}

std::string RecordPart::text(std::string_view key) {
  const Json* found = find(key);
  return found != nullptr && found->is(Json::Kind::kText) ? short_text(*found, found->text()) : "";
}

std::string RecordPart::said(std::string_view key) {
  const Json* member = find(key);
  if (member != nullptr && member->is(Json::Kind::kBool)) return member->boolean() ? "yes" : "no";
  if (member != nullptr && holds_number(*member)) list_unusable(key, "text");
  const bool list = member != nullptr && member->is(Json::Kind::kList);
  const std::string found = list ? short_text(*member, searchable(*member)) : text(key);
  return says_nothing(found) ? "" : found;
}

std::string RecordPart::kind(std::string_view key) {
  const std::string found = said(key), small = lower_case(found);
  constexpr std::array<std::string_view, 5> kNone = {"none", "no", "off", "false", "disabled"};
  return std::ranges::find(kNone, small) != kNone.end() ? "" : found;
}

std::string RecordPart::words(std::string_view key) {
  const Json* found = find(key);
  return found == nullptr ? "" : short_text(*found, searchable(*found));
}

std::optional<double> RecordPart::number(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (holds_number(*found)) return found->number();
  if (!found->is(Json::Kind::kText)) return std::nullopt;
  return parse_number<double>(found->text());
}

std::int64_t RecordPart::length(std::string_view key, std::int64_t absent) {
  static const std::regex kThousands(R"((\d{1,6}) ?[kK](?: tokens)?)");
  std::smatch found;
  const std::string said = text(key);
  if (!std::regex_match(said, found, kThousands)) return count(key, absent);
  return parse_number<std::int64_t>(found.str(1)).value_or(absent) * 1024;
}

std::optional<double> RecordPart::amount(std::string_view key) {
  const std::optional<double> found = number(key);
  if (found && *found > 0 && std::isfinite(*found)) return found;
  list_unusable(key, "number above 0");
  return std::nullopt;
}

void RecordPart::list_unusable(std::string_view key, const char* what) {
  const Json* member = find(key);
  const bool nothing =
      member == nullptr || (member->is(Json::Kind::kText) && says_nothing(member->text()));
  if (nothing) return;
  unusable_.push_back(fmt::format("{} ({} is no {})", key, as_written(*member), what));
}

std::optional<double> RecordPart::share(std::string_view key) {
  const std::string percent = text(key);
  if (percent.ends_with('%')) {
    const auto value = parse_number<double>(percent.substr(0, percent.find_first_of(" %")));
    if (value && *value > 0 && *value <= 100) return *value / 100;
  }
  constexpr double kLeastPercent = 2;
  const std::optional<double> found = amount(key);
  if (!found || *found <= 1) return found;
  if (*found > kLeastPercent) return *found / 100;
  list_unusable(key, "share up to 1, and too little for a percentage");
  return std::nullopt;
}

std::int64_t RecordPart::count(std::string_view key, std::int64_t absent) {
  std::optional<double> value = number(key);
  if (!value) value = parse_number<double>(without_commas(text(key)));
  if (!value) {
    list_unusable(key, "number");
    return absent;
  }
  if (*value < 0 || *value > kMostCounted)
    refuse_record(*find(key), "a size out of range", "from 0 to 1e9");
  if (*value != std::floor(*value))
    refuse_record(*find(key), "a size that is no whole number", "from 0 to 1e9");
  return static_cast<std::int64_t>(*value);
}

std::int64_t RecordPart::size(std::string_view key, std::int64_t absent) {
  const std::int64_t found = count(key, absent);
  if (found > 0 || !number(key)) return found;
  list_unusable(key, "number above 0");
  return absent;
}

std::optional<bool> RecordPart::flag(std::string_view key) {
  const std::optional<bool> said = yes_or_no(key);
  if (!said) list_unusable(key, "yes or no");
  return said;
}

std::optional<bool> RecordPart::yes_or_no(std::string_view key) {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (found->is(Json::Kind::kBool)) return found->boolean();
  const std::string word = lower_case(searchable(*found));
  for (const std::string_view yes : {"true", "yes", "on", "1"}) {
    if (word == yes) return true;
  }
  for (const std::string_view no : {"false", "no", "off", "0"}) {
    if (word == no) return false;
  }
  return std::nullopt;
}

}  // namespace plait
