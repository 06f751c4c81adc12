#include "scenarios/varied_fields.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "core/fields.h"
#include "core/json.h"
#include "core/json_text.h"
#include "scenarios/fields.h"
#include "scenarios/placement.h"
#include "scenarios/resolve.h"

namespace plait {
namespace {

/// What "auto" stands for, where a field has it.
const std::vector<VariedField>& automatic() {
  static const std::vector<VariedField> all = {
      // Shards that are the optimizer's own masters leave with it, or not at all (S101).
      {"strategy.offload", {"none", "cpu", R"({"optimizer":"cpu","parameters":"cpu"})"}},
      {"strategy.offload.optimizer", {"none", "cpu"}},
      {"strategy.offload.activations", {"none", "cpu"}},
      {"placement.order", {R"(["tp","ep","cp","fsdp","dp","pp"])", kStagesWithinReplicas}},
  };
  return all;
}

/// As --set takes it: a word needs no quotes.
std::string value_of(const Json& json) {
  constexpr std::string_view kNoWords[] = {"true", "false", "null"};
  if (!json.is(Json::Kind::kText)) return json_text(json);
  const std::string& text = json.text();
  const bool word = !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0;
  return word && std::ranges::count(kNoWords, text) == 0 ? text : json_quote(text);
}

bool is_list_of(const Json& json, Json::Kind kind) {
  return json.is(Json::Kind::kList) &&
         std::ranges::any_of(json.children(), [&](const Json* each) { return each->is(kind); });
}

/// A list where one value belongs, or a list of lists where a list does.
bool lists_values(const Json& json, const Shape& shape) {
  if (!json.is(Json::Kind::kList)) return false;
  if (shape.element.empty()) return true;
  return shape.element.front().element.empty() && is_list_of(json, Json::Kind::kList);
}

/// A list that stands for an object is of what its shorthand says.
bool is_searched(const Property& field) {
  const std::vector<Property>& parts = field.shape.properties;
  const auto shorthand = std::ranges::find(parts, field.shape.shorthand, &Property::key);
  return field.searchable || (shorthand != parts.end() && shorthand->searchable);
}

class Walk {
 public:
  void fields_of(const Json& object, const Shape& shape, const std::string& prefix) {
    for (const Property& p : shape.properties) {
      const Json* json = object.find(p.key);
      if (json == nullptr) continue;
      if (json->is(Json::Kind::kObject)) {
        fields_of(*json, p.shape, prefix + p.key + ".");
      } else if (!is_searched(p)) {
        field(*json, p.shape, prefix + p.key);
      }
    }
  }
  std::vector<VariedField> out;

 private:
  void field(const Json& json, const Shape& shape, const std::string& path) {
    const auto automatically = std::ranges::find(automatic(), path, &VariedField::path);
    if (lists_values(json, shape)) {
      if (json.children().empty()) refuse_type(json, "a list of at least one value");
      out.push_back({path, {}});
      for (const Json* each : json.children()) out.back().values.push_back(value_of(*each));
    } else if (automatically != automatic().end() && json.is(Json::Kind::kText) &&
               json.text() == "auto") {
      out.push_back(*automatically);
    }
  }
};

}  // namespace

std::vector<VariedField> varied_fields(const std::string& text, const std::string& file,
                                       const std::vector<Override>& overrides) {
  const JsonDocument document = changed_document(text, file, overrides);
  Walk walk;
  walk.fields_of(document.root(), scenario_shape(), "");
  return std::move(walk.out);
}

}  // namespace plait
