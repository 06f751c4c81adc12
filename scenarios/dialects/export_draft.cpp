#include "scenarios/dialects/export_draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/fields.h"

namespace plait {
namespace {

using nlohmann::json;

/// Parts that are one thing to a reader: named, not listed field by field, when nothing of them is
/// said.
constexpr std::string_view kWhole[] = {"model",          "cluster",        "cluster.node",
                                       "cluster.device", "cluster.fabric", "memory",
                                       "host",           "placement"};

/// Fields whose default is another field's value, or 1.
constexpr std::pair<std::string_view, std::string_view> kFollows[] = {
    {"workload.precision.reduction", "workload.precision.gradients"},
    {"workload.precision.matmul", "workload.precision.weights"},
};
constexpr std::string_view kOneByDefault[] = {"strategy.dp", "cluster.nodes"};
/// Fields whose default follows from others in some scenarios, and what it is in the rest, as JSON.
constexpr std::pair<std::string_view, std::string_view> kUsually[] = {
    {"engine.kernels", R"("vllm")"},     {"engine.gpu_memory_utilization", "0.9"},
    {"serving.dtype", R"("bf16")"},      {"serving.head_weights", R"("plain")"},
    {"serving.layers.gpu_layers", "-1"}, {"serving.requests.arrivals", R"("poisson")"},
    {"strategy.zero_stage", "0"},
};
/// Of fields whose default is prose, "no limit": not said.
constexpr std::string_view kNothing[] = {"", "0 B", "0 s"};
/// What every export has, or has no use for.
constexpr std::string_view kNotAsked[] = {"$schema",
                                          "comment",
                                          "name",
                                          "framework",
                                          "model.name",
                                          "cluster.preset",
                                          "cluster.price_per_device_hour"};

class Unsaid {
 public:
  using Paths = std::set<std::string, std::less<>>;
  Unsaid(const json& resolved, const Paths& said, const Paths& contradicted)
      : resolved_(resolved), said_(said), contradicted_(contradicted) {}

  void walk(const Shape& shape, const std::string& prefix) {
    for (const Property& p : shape.properties) {
      const std::string path = prefix.empty() ? p.key : prefix + "." + p.key;
      if (is_said(path) || std::ranges::count(kNotAsked, path) != 0) continue;
      const json* value = value_at(resolved_, path);
      if (value == nullptr) {
        add_silent(p, path);
      } else if (std::ranges::count(kWhole, path) != 0 && !is_partly_said(path)) {
        list.push_back(path);
      } else if (value->is_object()) {
        walk(p.shape, path);
      } else if (contradicted_.contains(path) || !is_default(p, path, *value)) {
        add(path, *value);
      }
    }
  }

  std::vector<std::string> list;

 private:
  void add(const std::string& path, const json& value) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    list.push_back(fmt::format("{} = {}", path, text));
  }
  /// The resolved scenario leaves out some fields that have their defaults.
  void add_silent(const Property& p, const std::string& path) {
    if (!p.shape.properties.empty()) return walk(p.shape, path);
    if (!contradicted_.contains(path)) return;
    if (p.need == Need::kDefault) return add(path, json::parse(p.fallback));
    list.push_back(path);
  }
  bool is_said(const std::string& path) const { return said_.contains(path); }
  bool is_partly_said(const std::string& path) const {
    const auto next = said_.lower_bound(path + ".");
    return next != said_.end() && next->starts_with(path + ".");
  }
  bool is_default(const Property& p, const std::string& path, const json& value) const {
    if (p.need == Need::kDefault) return value == json::parse(p.fallback);
    for (const auto& [field, other] : kFollows) {
      if (path == field) return value == *value_at(resolved_, other);
    }
    for (const auto& [field, usual] : kUsually) {
      if (path.ends_with(field)) return value == json::parse(usual);
    }
    if (std::ranges::count(kNothing, value) != 0) return true;
    return std::ranges::count(kOneByDefault, path) != 0 && value == 1;
  }

  const json& resolved_;
  const Paths& said_;
  const Paths& contradicted_;
};

}  // namespace

const json* value_at(const json& root, std::string_view path) {
  const json* at = &root;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string key(path.substr(0, dot));
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &at->at(key);
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return at;
}

Replicas replicas_of(const Strategy& strategy) {
  Replicas out{strategy.mesh[Axis::kDp], strategy.mesh[Axis::kFsdp]};
  const bool shards = strategy.zero_stage >= 2;
  if (shards ? out.fsdp == 1 : out.dp == 1) std::swap(out.dp, out.fsdp);
  return out;
}

ExportDraft::ExportDraft(const Scenario& s, Launcher l)
    : scenario(s), launcher(l), resolved_(json::parse(s.canonical_json)) {}

void ExportDraft::set(std::string key, std::string value) {
  settings_.push_back({section_, std::move(key), std::move(value)});
}

void ExportDraft::copy(std::string key, std::string_view path) {
  const json& value = *value_at(resolved_, path);
  set(std::move(key), value.is_string() ? value.get<std::string>() : value.dump());
  say({path});
}

Hosts ExportDraft::hosts() const {
  const json* each = value_at(resolved_, "cluster.node.devices_per_host");
  return hosts_of(scenario.cluster.nodes, scenario.cluster.devices_per_node,
                  each == nullptr ? 0 : each->get<std::int64_t>());
}

Settings ExportDraft::finish(Dialect dialect) && {
  Unsaid unsaid(resolved_, said_, contradicted_);
  unsaid.walk(scenario_shape(), "");
  return {.dialect = dialect,
          .scenario = scenario.name,
          .settings = std::move(settings_),
          .said = {said_.begin(), said_.end()},
          .unsaid = std::move(unsaid.list),
          .asked = std::move(asked_),
          .hosts = hosts().count,
          .devices_per_host = hosts().devices};
}

}  // namespace plait
