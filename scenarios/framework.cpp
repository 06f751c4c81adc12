#include "scenarios/framework.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/fields.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

Framework parsed(const CatalogueEntry& file) {
  const auto json = nlohmann::ordered_json::parse(file.json);
  Framework out{std::string(file.name), json.at("title").get<std::string>(), {}};
  for (const auto& [path, entry] : json.at("defaults").items()) {
    const auto& value = entry.at("value");
    out.defaults.push_back({path, value.dump(), entry.at("source").get<std::string>()});
  }
  return out;
}

bool says(const Json& root, const std::string& path) { return root.find_path(path) != nullptr; }

}  // namespace

const std::vector<Framework>& frameworks() {
  static const std::vector<Framework> all = [] {
    std::vector<Framework> out;
    for (const CatalogueEntry& e : catalogue()) {
      if (e.kind == "frameworks") out.push_back(parsed(e));
    }
    return out;
  }();
  return all;
}

std::vector<std::string> framework_names() {
  std::vector<std::string> out;
  for (const Framework& f : frameworks()) out.push_back(f.name);
  return out;
}

void fill_in_framework(JsonDocument& document) {
  const Json* name = document.root().find("framework");
  if (name == nullptr || !name->is(Json::Kind::kText)) return;  // a wrong type is refused later
  const auto found = std::ranges::find(frameworks(), name->text(), &Framework::name);
  if (found == frameworks().end()) return;  // the same
  const Shape shape = scenario_table().shape();
  for (const FrameworkDefault& d : found->defaults) {
    if (!says(document.root(), d.path)) apply_override(document, shape, d.path, d.value);
  }
}

}  // namespace plait
