#include "scenarios/framework.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scenarios/fields.h"
#include "scenarios/framework_files.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

/// `"tensor": "ring"` says strategy.tensor.overlap too. nullptr: not said.
const Json* said_of(const Json& root, const std::string& path) {
  const Json* at = &root;
  const Shape* form = &scenario_shape();
  for (const std::string& step : split_path(path)) {
    if (!at->is(Json::Kind::kObject)) return step == form->shorthand ? at : nullptr;
    at = at->find(step);
    if (at == nullptr) return nullptr;
    form = &std::ranges::find(form->properties, step, &Property::key)->shape;
  }
  return at;
}

bool says(const Json& root, const std::string& path) { return said_of(root, path) != nullptr; }

/// What a preset or a config.json says of the model is no habit of whoever trains it.
bool is_of_known_model(const FrameworkDefault& d, const Json& root) {
  return d.path.starts_with("model.") &&
         (says(root, "model.preset") || says(root, "model.hf_config"));
}

bool applies(const FrameworkDefault& d, const Json& root) {
  if (is_of_known_model(d, root)) return false;
  const auto is_there = [&root](const std::string& path) {
    return root.find_path(path) != nullptr;
  };
  if (std::ranges::any_of(d.where_absent, is_there)) return false;
  const auto above_one = [&root](const std::string& path) {
    const Json* size = root.find_path(path);
    return size != nullptr && size->is(Json::Kind::kInteger) && size->integer() > 1;
  };
  return d.where_split.empty() || std::ranges::any_of(d.where_split, above_one);
}

/// `"precision": "fp16"` says workload.precision.weights too.
bool has_fp16_weights(const Json& root) {
  const Json* weights = root.find_path("workload.precision");
  if (weights != nullptr && weights->is(Json::Kind::kObject)) weights = weights->find("weights");
  return weights != nullptr && weights->is(Json::Kind::kText) && weights->text() == "fp16";
}

/// nullptr: none, or what is refused later.
const Framework* framework_named(const JsonDocument& document) {
  const Json* name = document.root().find("framework");
  return name != nullptr && name->is(Json::Kind::kText) ? find_framework(name->text()) : nullptr;
}

const std::string& value_for(const FrameworkDefault& d, const Json& root) {
  return !d.value_with_fp16.empty() && has_fp16_weights(root) ? d.value_with_fp16 : d.value;
}

bool says_one_of(const Json& root, const FrameworkInstead::Said& s) {
  const Json* said = said_of(root, s.path);
  if (said != nullptr && !said->is(Json::Kind::kText)) return false;
  return std::ranges::count(s.values, said == nullptr ? "null" : said->text()) != 0;
}

/// What gives another program away; nullptr: nothing does.
const FrameworkInstead* instead_of(const Framework& named, const Json& root) {
  const auto found = std::ranges::find_if(named.instead, [&root](const FrameworkInstead& other) {
    return std::ranges::all_of(other.where,
                               [&root](const auto& s) { return says_one_of(root, s); });
  });
  return found == named.instead.end() ? nullptr : &*found;
}

/// The profile that fills in a scenario, and what gives it away instead of the one that is named.
struct AtWork {
  const Framework* profile = nullptr;         // nullptr: none is named
  const FrameworkInstead* instead = nullptr;  // nullptr: it is the one that is named
};

AtWork at_work(const Framework* named, const Json& root) {
  const FrameworkInstead* instead = named == nullptr ? nullptr : instead_of(*named, root);
  return {instead == nullptr ? named : find_framework(instead->profile), instead};
}

Warning warning_of(const AtWork& work, const Framework& named, const Json& root) {
  const Framework& other = *work.profile;
  std::vector<std::string> said;
  for (const FrameworkInstead::Said& s : work.instead->where) {
    if (says(root, s.path)) said.push_back(s.path);
  }
  return {
      "W025",
      fmt::format(
          R"({}, as it is here, is no setting of framework "{}" but one of {}: the profile "{}" )"
          R"(is taken, as with "framework": "{}")",
          fmt::join(said, " with "), named.name, other.title, other.name, other.name)};
}

}  // namespace

const std::vector<Framework>& frameworks() {
  static const std::vector<Framework> all = [] {
    std::vector<CatalogueEntry> files = catalogue();
    std::erase_if(files, [](const CatalogueEntry& e) { return e.kind != "frameworks"; });
    return frameworks_of(files);
  }();
  return all;
}

std::vector<std::string> framework_names() {
  std::vector<std::string> out;
  for (const CatalogueEntry& e : catalogue()) {
    if (e.kind == "frameworks") out.emplace_back(e.name);
  }
  return out;
}

const Framework* find_framework(std::string_view name) {
  const auto found = std::ranges::find(frameworks(), name, &Framework::name);
  return found == frameworks().end() ? nullptr : &*found;
}

const Framework* framework_at_work(const JsonDocument& document) {
  return at_work(framework_named(document), document.root()).profile;
}

std::vector<std::string> fill_in_framework(JsonDocument& document, Warnings& warnings) {
  std::vector<std::string> out;
  const Framework* named = framework_named(document);
  const AtWork work = at_work(named, document.root());
  const Framework* found = work.profile;
  if (found == nullptr) return out;
  if (work.instead != nullptr) {
    warnings.push_back(warning_of(work, *named, document.root()));
    apply_override(document, scenario_shape(), "framework", json_quote(found->name),
                   "framework " + named->name);
  }
  for (const FrameworkDefault& d : found->defaults) {
    if (says(document.root(), d.path) || !applies(d, document.root())) continue;
    apply_override(document, scenario_shape(), d.path, value_for(d, document.root()),
                   "framework " + found->name);
    out.push_back(d.path);
  }
  return out;
}

std::vector<std::string> deciding_sizes(const JsonDocument& document, const std::string& path) {
  const Framework* found = framework_at_work(document);
  if (found == nullptr || says(document.root(), path)) return {};
  const auto of_path = std::ranges::find(found->defaults, path, &FrameworkDefault::path);
  return of_path == found->defaults.end() ? std::vector<std::string>() : of_path->where_split;
}

}  // namespace plait
