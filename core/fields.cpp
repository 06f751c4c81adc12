#include "core/fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plain_number.h"
#include "core/split.h"

namespace plait {
namespace {

constexpr double kLargestExact = 9007199254740992.0;  // 2^53

bool bounded(double v) { return std::abs(v) < std::numeric_limits<double>::max(); }

std::string integer_range(const Int& rule) {
  if (rule.max >= Int{}.max) return fmt::format("an integer of at least {}", rule.min);
  return fmt::format("an integer from {} to {}", rule.min, rule.max);
}

std::string number_range(const Real& rule) {
  if (bounded(rule.min) && bounded(rule.max)) {
    return fmt::format("a number from {} to {}", rule.min, rule.max);
  }
  if (bounded(rule.min)) return fmt::format("a number of at least {}", rule.min);
  return "a number";
}

/// Of what is no number: a text may be one in other words, or several.
std::string cure_of_no_number(const std::string& text) {
  constexpr const char* kSeveral = "several are for -L, of plait compare, whatif, search and serve";
  const std::string plain = plain_number(text);
  const std::vector<std::string> parts = split(text, ',');
  const auto is_number = [](const std::string& part) { return !plain_number(part).empty(); };
  const bool may_be_several = parts.size() > 1 && std::ranges::all_of(parts, is_number);
  if (!plain.empty()) {
    return fmt::format("write {} alone", plain) +
           (may_be_several ? fmt::format("; {}", kSeveral) : "");
  }
  return may_be_several ? fmt::format("write one of them; {}", kSeveral) : "";
}

/// Of a count, whose k may be 1,024.
std::string cure_of_no_count(const std::string& text) {
  const std::string count = plain_count(text);
  return count == plain_number(text) ? cure_of_no_number(text) : "write " + count;
}

[[noreturn]] void refuse_no_number(const Json& json, const std::string& expectation,
                                   std::string (*cure)(const std::string& text)) {
  refuse_type(json, expectation, json.is(Json::Kind::kText) ? cure(json.text()) : "");
}

/// JSON names of a list of texts: "a", "b" or "c".
std::string one_of(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += json_quote(names[i]);
  }
  return out;
}

/// A regular expression (the subset that JSON Schema shares with everybody) for number and unit.
std::string unit_pattern(const UnitTable& table) {
  std::vector<std::string_view> names;
  for (const UnitOfMeasure& u : table.units) names.push_back(u.name);
  return fmt::format("^ *[0-9]+(\\.[0-9]*)?([eE][-+]?[0-9]+)? *({}) *$", fmt::join(names, "|"));
}

}  // namespace

Shape Int::shape() const {
  return {integer_range(*this),
          fmt::format(R"({{"type":"integer","minimum":{},"maximum":{}}})", min, max),
          "",
          "",
          {},
          {}};
}

std::int64_t Int::parse(const Json& json) const {
  double value = 0;
  if (json.is(Json::Kind::kInteger)) {
    if (json.integer() < min || json.integer() > max) refuse_range(json, integer_range(*this));
    return json.integer();
  }
  if (json.is(Json::Kind::kNumber)) value = json.number();
  // 4096.0 and 1e6 are integers too, as in JSON Schema.
  const bool whole = json.is(Json::Kind::kNumber) && std::trunc(value) == value;
  if (!whole) refuse_no_number(json, integer_range(*this), cure_of_no_count);
  if (std::abs(value) > kLargestExact || value < static_cast<double>(min) ||
      value > static_cast<double>(max)) {
    refuse_range(json, integer_range(*this));
  }
  return static_cast<std::int64_t>(value);
}

Shape Real::shape() const {
  std::string schema = R"({"type":"number")";
  if (bounded(min)) schema += fmt::format(R"(,"minimum":{})", min);
  if (bounded(max)) schema += fmt::format(R"(,"maximum":{})", max);
  return {number_range(*this), schema + "}", "", "", {}, {}};
}

void Real::read(const Json& json, double& into) const {
  if (!json.is(Json::Kind::kInteger) && !json.is(Json::Kind::kNumber)) {
    refuse_no_number(json, number_range(*this), cure_of_no_number);
  }
  const double value = json.number();
  if (!(value >= min && value <= max)) refuse_range(json, number_range(*this));
  into = value;
}

Shape Flag::shape() const { return {"true or false", R"({"type":"boolean"})", "", "", {}, {}}; }

void Flag::read(const Json& json, bool& into) const {
  if (!json.is(Json::Kind::kBool)) refuse_type(json, "true or false");
  into = json.boolean();
}

Shape Text::shape() const {
  if (names.empty()) return {"a text", R"({"type":"string"})", "", "", {}, {}};
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(json_quote(name));
  return {one_of(names), R"({"enum":)" + json_list(quoted) + "}", "", "", {}, {}};
}

void Text::read(const Json& json, std::string& into) const {
  if (!json.is(Json::Kind::kText)) refuse_type(json, names.empty() ? "a text" : one_of(names));
  for (const std::string& name : names) {
    if (name == json.text()) return void(into = name);
  }
  if (!names.empty()) refuse_choice(json, names);
  into = json.text();
}

Shape AmountRange::shape() const {
  const std::string expectation =
      fmt::format("{} with its unit, such as \"{}\"", table->noun, table->example);
  return {expectation,
          fmt::format(R"({{"type":"string","pattern":{}}})", json_quote(unit_pattern(*table))),
          "",
          "",
          {},
          {}};
}

const std::string& AmountRange::text_of(const Json& json) const {
  if (json.is(Json::Kind::kText)) return json.text();
  if (json.is(Json::Kind::kInteger) || json.is(Json::Kind::kNumber)) {
    throw InputError(
        {.code = "U001",
         .problem = fmt::format("{} is {}, without a unit", json.path(), json.describe()),
         .where = json.where(),
         .expected = shape().expectation,
         .cure = fmt::format("write a text with number and unit, as in \"{}\"", table->example)});
  }
  refuse_type(json, shape().expectation);
}

void AmountRange::check(const Json& json, double value) const {
  if (value >= min && value <= max) return;
  const std::string least = exact_text(min, *table);
  refuse_range(json, bounded(max) ? fmt::format("{} from {} to {}", table->noun, least,
                                                exact_text(max, *table))
                                  : fmt::format("{} of at least {}", table->noun, least));
}

Shape sourced_shape(const Shape& value) {
  Shape out = value;
  out.schema = fmt::format(
      R"({{"anyOf":[{0},{{"type":"object","required":["value","source"],"additionalProperties":false,)"
      R"("properties":{{"value":{0},"source":{{"type":"string"}}}}}}]}})",
      value.schema);
  return out;
}

const Json& sourced_value(const Json& json) {
  if (!json.is(Json::Kind::kObject)) return json;
  refuse_unknown_keys(json, {"value", "source"});
  const Json* source = json.find("source");
  if (source == nullptr)
    refuse_missing(json, {{"source", "a text that says where the value is from"}});
  if (!source->is(Json::Kind::kText)) refuse_type(*source, "a text");
  const Json* value = json.find("value");
  if (value == nullptr) refuse_missing(json, {{"value", "the value"}});
  return *value;
}

Shape list_shape(const Shape& element) {
  Shape out{.expectation = "a list, each element " + element.expectation,
            .schema = "",
            .name = "",
            .shorthand = "",
            .properties = {},
            .element = {}};
  out.element.push_back(element);
  return out;
}

}  // namespace plait
