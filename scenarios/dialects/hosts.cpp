#include "scenarios/dialects/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "topologies/catalogue.h"

namespace plait {
namespace {

/// Nothing where the base names no node of the catalogue.
std::optional<NodeSpec> node_of(ScenarioTree& base) {
  const auto* preset = base.find("cluster");
  if (preset != nullptr && preset->is_object()) preset = base.find("cluster.preset");
  if (preset == nullptr || !preset->is_string()) return std::nullopt;
  const auto name = preset->get<std::string>();
  const std::vector<std::string> known = cluster_names();
  return std::ranges::count(known, name) > 0 ? std::optional(find_node(name)) : std::nullopt;
}

}  // namespace

Hosts hosts_of(std::int64_t nodes, std::int64_t devices_per_node, std::int64_t devices_per_host) {
  const bool several = devices_per_host > 0 && devices_per_node > devices_per_host &&
                       devices_per_node % devices_per_host == 0;
  if (!several) return {nodes, devices_per_node};
  return {nodes * (devices_per_node / devices_per_host), devices_per_host};
}

Imported in_nodes(Imported imported, ScenarioTree& base) {
  const auto given = [&](const char* path) {
    return std::ranges::find(imported.given, path, &Given::path);
  };
  const auto count = given("cluster.nodes"), each = given("cluster.devices_per_node");
  if (count == imported.given.end() || each == imported.given.end()) return imported;
  const std::optional<NodeSpec> node = node_of(base);
  if (!node || std::stoll(each->value) != node->devices_per_host) return imported;
  const std::int64_t hosts = std::stoll(count->value),
                     in_a_node = node->devices / node->devices_per_host;
  std::int64_t nodes = (hosts + in_a_node - 1) / in_a_node;
  while (hosts % nodes != 0) ++nodes;
  count->value = std::to_string(nodes);
  each->value = std::to_string(hosts / nodes * node->devices_per_host);
  return imported;
}

std::string note_of_other_hosts(const Imported& imported, ScenarioTree& base) {
  const auto each = std::ranges::find(imported.given, "cluster.devices_per_node", &Given::path);
  if (each == imported.given.end() || base.states(each->path)) return {};
  const std::optional<NodeSpec> node = node_of(base);
  const bool joined = node && node->devices_per_host > 0 && node->devices > node->devices_per_host;
  if (!joined || std::stoll(each->value) == node->devices_per_host) return {};
  return fmt::format(
      "hosts of {} GPUs (line {}) are read as nodes that no NVLink joins, since those of the "
      "base's "
      "machine, which it joins, have {}",
      each->value, each->line, node->devices_per_host);
}

}  // namespace plait
