#include "core/json_text.h"

#include <utility>
#include <vector>

namespace plait {

std::string json_text(const Json& json) {
  std::vector<std::string> parts;
  switch (json.kind()) {
    case Json::Kind::kNull: return "null";
    case Json::Kind::kBool: return json_bool(json.boolean());
    case Json::Kind::kInteger: return std::to_string(json.integer());
    case Json::Kind::kNumber: return json_number(json.number());
    case Json::Kind::kText: return json_quote(json.text());
    case Json::Kind::kList:
      for (const Json* each : json.children()) parts.push_back(json_text(*each));
      return json_list(parts);
    case Json::Kind::kObject: {
      std::vector<JsonMember> members;
      for (const Json* each : json.children()) members.push_back({each->key(), json_text(*each)});
      return json_object(std::move(members), false);
    }
  }
  return "";
}

}  // namespace plait
