#include "core/json_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/plain_number.h"
#include "core/utf16.h"

namespace plait {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_of_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; }

/// A text that begins with the line [word], as TOML has it.
bool is_section(std::string_view ahead, std::string_view at) {
  while (!at.empty() && is_of_word(at.front())) at.remove_prefix(1);
  const bool ends = at.starts_with("]\n") || at.starts_with("]\r");
  return ends && ahead.ends_with('[') && ahead.find_first_not_of(" \t\r\n[") == ahead.npos;
}

/// A number in other words, such as 8k or 8_192, around the place where it stops being one.
std::string cure_of_number(std::string_view begun, std::string_view at) {
  std::string word(begun);
  while (!at.empty() && is_of_word(at.front())) word += at.front(), at.remove_prefix(1);
  const std::string plain = plain_number(word);
  return plain.empty() || plain == word ? "" : "write " + plain_count(word);
}

/// Two tokens without what belongs between them, the first of which ends with `last`; `expected` by
/// the library there.
std::string cure_of_gap(char last, std::string_view at, std::string_view expected) {
  if (expected == "':'") return "put a colon between key and value";
  const bool within = expected == "'}'" || expected == "']'";
  const bool begins = at.find_first_of("\"{[0123456789") == 0;
  const bool is_second = std::string_view("{[:,").find(last) == std::string_view::npos;
  return within && begins && is_second ? "put a comma before" : "";
}

/// What a person probably meant by the text at an unexpected token.
std::string cure_for(std::string_view before, std::string_view at, std::string_view expected) {
  struct Slip {
    std::string_view start, cure;
  };
  constexpr Slip kSlips[] = {
      {"'", "use double quotes"},
      {"NaN", "write a finite number"},
      {"nan", "write a finite number"},
      {"Inf", "write a finite number"},
      {"-Inf", "write a finite number"},
      {"inf", "write a finite number"},
      {"True", "write true in lower case"},
      {"False", "write false in lower case"},
      {"None", "write null"},
      {"+", "remove the plus sign"},
      {".", "write a digit before the point"},
      {"#", "comments begin with //"},
  };
  for (const Slip& slip : kSlips) {
    if (at.starts_with(slip.start)) return std::string(slip.cure);
  }
  const std::size_t last = before.find_last_not_of(" \t\r\n");
  const bool after_comma = last != std::string_view::npos && before[last] == ',';
  if (after_comma && (at.starts_with('}') || at.starts_with(']'))) return "remove the comma before";
  if (at.empty()) return "close every bracket, brace and quote";
  // The library stops in the middle of a word that is none of its own.
  std::string_view ahead = before;
  while (!ahead.empty() && is_of_word(ahead.back())) ahead.remove_suffix(1);
  const char first = ahead.size() < before.size() ? before[ahead.size()] : at[0];
  const std::size_t end = ahead.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos || is_section(ahead, at))
    return "name a file of JSON, which begins with {";
  if ((ahead[end] == '{' || ahead[end] == ',') && is_letter(first)) {
    return "put words in double quotes";
  }
  const std::string number = cure_of_number(before.substr(ahead.size()), at);
  return number.empty() ? cure_of_gap(ahead[end], at, expected) : number;
}

/// Where the token begins that ends at `last`. Of strings the library keeps the raw text; numbers
/// and words are walked back over; what remains is one character long.
std::size_t token_start(std::string_view text, std::size_t last, const std::string& raw) {
  if (text[last] == '"' && raw.size() <= last + 1) return last + 1 - raw.size();
  constexpr std::string_view kWord = "abcdefghijklmnopqrstuvwxyz0123456789+-.E";
  const auto word = [&](std::size_t i) { return kWord.find(text[i]) != std::string_view::npos; };
  while (last > 0 && word(last) && word(last - 1)) --last;
  return last;
}

}  // namespace

JsonBuilder::JsonBuilder(JsonDocument& document, std::string_view text, const std::string* origin,
                         Positions positions)
    : document_(document), text_(text), origin_(origin), positions_(positions) {
  text_ = without_mark(text_);
}

bool JsonBuilder::parses() const { return nlohmann::json::accept(text_, true); }

void JsonBuilder::build(Json* root) {
  if (is_utf16(text_)) {
    fail("J009", "the text is encoded as UTF-16", place_of(0), "UTF-8", "save the file as UTF-8");
  }
  if (text_.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    fail("J011", "the text is empty", place_of(0), "a JSON object",
         "name a file that is not empty, which begins with {");
  }
  root_ = root;
  nlohmann::json::sax_parse(text_.begin(), text_.end(), this, nlohmann::json::input_format_t::json,
                            true, true);
}

bool JsonBuilder::null() { return value()->kind_ = Json::Kind::kNull, skip_token(), true; }

bool JsonBuilder::boolean(bool v) {
  Json* json = value();
  json->kind_ = Json::Kind::kBool;
  json->value_ = v;
  return skip_token(), true;
}

bool JsonBuilder::number_integer(std::int64_t v) {
  Json* json = value();
  json->kind_ = Json::Kind::kInteger;
  json->value_ = v;
  return skip_token(), true;
}

bool JsonBuilder::number_unsigned(std::uint64_t v) {
  if (v > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return number_float(static_cast<double>(v), std::to_string(v));
  }
  return number_integer(static_cast<std::int64_t>(v));
}

bool JsonBuilder::number_float(double v, const std::string& digits) {
  Json* json = value();
  if (digits.find_first_of(".eE") == std::string::npos) {
    fail("J008", "the integer is too large", json->where(), "an integer below 2^63",
         "write a smaller number");
  }
  json->kind_ = Json::Kind::kNumber;
  json->value_ = v;
  return skip_token(), true;
}

bool JsonBuilder::string(std::string& v) {
  Json* json = value();
  json->kind_ = Json::Kind::kText;
  json->value_ = std::move(v);
  return skip_token(), true;
}

bool JsonBuilder::start_object(std::size_t) { return open(Json::Kind::kObject); }
bool JsonBuilder::end_object() { return close(); }
bool JsonBuilder::start_array(std::size_t) { return open(Json::Kind::kList); }
bool JsonBuilder::end_array() { return close(); }

bool JsonBuilder::key(std::string& k) {
  skip_separators();
  key_ = std::move(k);
  key_line_ = line_;
  key_column_ = column_;
  return skip_token(), true;
}

Json* JsonBuilder::value() {
  skip_separators();
  if (++count_ > JsonDocument::kMaxValues) {
    fail("J010", fmt::format("more than {} values", JsonDocument::kMaxValues), here());
  }
  Json* json = root_;
  if (!open_.empty()) {
    json = document_.add(open_.back());
    open_.back()->children_.push_back(json);
    json->key_ = std::move(key_);
    key_.clear();
  }
  json->origin_ = origin_;
  if (positions_ == Positions::kCounted) {
    json->line_ = line_;
    json->column_ = column_;
    json->key_line_ = key_line_;
    json->key_column_ = key_column_;
  }
  return json;
}

bool JsonBuilder::open(Json::Kind kind) {
  if (open_.size() >= JsonDocument::kMaxDepth) {
    skip_separators();
    fail("J006", fmt::format("more than {} levels of nesting", JsonDocument::kMaxDepth), here(),
         "lists and objects in one another, but not as deep", "name the file that was meant");
  }
  Json* json = value();
  json->kind_ = kind;
  open_.push_back(json);
  return step(), true;
}

bool JsonBuilder::close() {
  skip_separators();
  step();
  Json* json = open_.back();
  open_.pop_back();
  if (json->kind_ != Json::Kind::kObject) return true;
  std::vector<const Json*> members(json->children_.begin(), json->children_.end());
  std::ranges::stable_sort(members, {},
                           [](const Json* m) -> const std::string& { return m->key_; });
  const auto twice = std::ranges::adjacent_find(
      members, {}, [](const Json* m) -> const std::string& { return m->key_; });
  if (twice == members.end()) return true;
  const Json* second = *(twice + 1);
  fail("J007", fmt::format("the key {} is given twice", json_quote(second->key_)),
       second->key_where(), "",
       fmt::format("keep one of them; the first is on line {}", (*twice)->key_line_));
}

void JsonBuilder::step() {
  const char c = text_[cursor_++];
  if (c == '\n') {
    ++line_;
    column_ = 1;
  } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80) {  // not a UTF-8 continuation byte
    ++column_;
  }
}

void JsonBuilder::skip_separators() {
  constexpr std::string_view kSeparators = " \t\r\n,:";
  while (cursor_ < text_.size()) {
    if (kSeparators.find(text_[cursor_]) != std::string_view::npos) {
      step();
    } else if (text_.substr(cursor_, 2) == "//") {
      while (cursor_ < text_.size() && text_[cursor_] != '\n') step();
    } else if (text_.substr(cursor_, 2) == "/*") {
      const std::size_t end = std::min(text_.find("*/", cursor_ + 2), text_.size() - 2) + 2;
      while (cursor_ < end) step();
    } else {
      return;
    }
  }
}

void JsonBuilder::skip_token() {
  if (text_[cursor_] != '"') {
    constexpr std::string_view kEnds = " \t\r\n,:]}/";
    while (cursor_ < text_.size() && kEnds.find(text_[cursor_]) == std::string_view::npos) step();
    return;
  }
  step();
  while (text_[cursor_] != '"') {
    if (text_[cursor_] == '\\') step();
    step();
  }
  step();
}

Where JsonBuilder::here() const { return {*origin_, line_, column_, ""}; }

Where JsonBuilder::place_of(std::size_t offset) const {
  const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto starts_character = [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80;
  };
  const std::string_view line = before.substr(line_start);
  return {*origin_, static_cast<int>(1 + std::ranges::count(before, '\n')),
          static_cast<int>(1 + std::ranges::count_if(line, starts_character)), ""};
}

void JsonBuilder::fail(const char* code, const std::string& problem, const Where& where,
                       const std::string& expected, const std::string& cure) const {
  throw InputError({code, problem, where, expected, cure});
}

bool JsonBuilder::syntax_error(std::size_t position, const std::string& last_token,
                               std::string message) {
  std::size_t offset = std::min(position == 0 ? 0 : position - 1, text_.size());
  const bool whole_token = message.find("unexpected") != std::string::npos ||
                           message.find("overflow") != std::string::npos;
  if (whole_token && offset < text_.size()) offset = token_start(text_, offset, last_token);
  if (message.find("number overflow") != std::string::npos) {
    fail("J008", "the number is too large", place_of(offset), "a number below 1.8e308",
         "write a smaller number");
  }
  // "[json.exception...] parse error at line 1, column 2: WHAT; last read: 'X'; expected Y"
  if (const auto start = message.find(": "); start != std::string::npos)
    message.erase(0, start + 2);
  std::string expected;
  if (const auto start = message.find("; expected "); start != std::string::npos) {
    expected = message.substr(start + 11);
    message.erase(start);
  }
  if (const auto start = message.find("; last read: "); start != std::string::npos) {
    message.erase(start);
  }
  const bool encoding = message.find("UTF-8") != std::string::npos;
  fail(encoding ? "J009" : "J005", message, place_of(offset), expected,
       encoding ? "save the file as UTF-8"
                : cure_for(text_.substr(0, offset), text_.substr(offset), expected));
}

}  // namespace plait
