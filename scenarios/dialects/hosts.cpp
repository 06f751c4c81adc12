#include "scenarios/dialects/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

/// As many nodes as a scenario may have (cluster.nodes), and more.
constexpr std::int64_t kMostHosts = std::int64_t{1} << 24;

/// Nothing where the base names no node of the catalogue.
std::optional<NodeSpec> node_of(ScenarioTree& base) {
  const auto* preset = base.find("cluster");
  if (preset != nullptr && preset->is_object()) preset = base.find("cluster.preset");
  if (preset == nullptr || !preset->is_string()) return std::nullopt;
  const auto name = preset->get<std::string>();
  const std::vector<std::string> known = cluster_names();
  return std::ranges::count(known, name) > 0 ? std::optional(find_node(name)) : std::nullopt;
}

/// GPUs of a host of the base's machine, a process on each; 0: not known.
std::int64_t devices_of_host(ScenarioTree& base, const std::optional<NodeSpec>& node) {
  const auto* stated = base.find("cluster.devices_per_node");
  if (stated != nullptr && stated->is_number_integer()) return stated->get<std::int64_t>();
  if (!node) return 0;
  return node->devices_per_host > 0 ? node->devices_per_host : node->devices;
}

/// All processes, as hosts of that machine, or as one host of fewer GPUs.
void share_out(Imported& imported, ScenarioTree& base, const std::optional<NodeSpec>& node,
               const std::string& file) {
  const Given& all = imported.started;
  const std::int64_t each = devices_of_host(base, node), ranks = std::stoll(all.value);
  if (each <= 0) return;
  if (ranks > each && ranks % each != 0) {
    throw InputError({"D004",
                      fmt::format("{} processes on hosts of {} GPUs", ranks, each),
                      {file, all.line, 0, all.path},
                      "as many on each host",
                      "say how many hosts there are, or name the machine with --base"});
  }
  imported.give("cluster.nodes", std::to_string(std::max<std::int64_t>(ranks / each, 1)), all.line);
  const std::string used = std::to_string(std::min(ranks, each));
  imported.give("cluster.devices_per_node", used, all.line);
}

}  // namespace

Hosts hosts_of(std::int64_t nodes, std::int64_t devices_per_node, std::int64_t devices_per_host) {
  const bool several = devices_per_host > 0 && devices_per_node > devices_per_host &&
                       devices_per_node % devices_per_host == 0;
  if (!several) return {nodes, devices_per_node};
  return {nodes * (devices_per_node / devices_per_host), devices_per_host};
}

Imported in_nodes(Imported imported, ScenarioTree& base, const std::string& file) {
  const std::optional<NodeSpec> node = node_of(base);
  if (!imported.started.value.empty()) share_out(imported, base, node, file);
  const auto given = [&](const char* path) {
    return std::ranges::find(imported.given, path, &Given::path);
  };
  const auto count = given("cluster.nodes"), each = given("cluster.devices_per_node");
  if (count == imported.given.end() || each == imported.given.end()) return imported;
  if (!node || std::stoll(each->value) != node->devices_per_host) return imported;
  const std::int64_t hosts = std::stoll(count->value),
                     in_a_node = node->devices / node->devices_per_host;
  if (hosts > kMostHosts) return imported;  // parse_scenario says so
  std::int64_t nodes = (hosts + in_a_node - 1) / in_a_node;
  while (hosts % nodes != 0) ++nodes;
  count->value = std::to_string(nodes);
  each->value = std::to_string(hosts / nodes * node->devices_per_host);
  return imported;
}

std::string note_of_other_hosts(const Imported& imported, ScenarioTree& base) {
  const Given& all = imported.started;
  if (!all.value.empty() && devices_of_host(base, node_of(base)) <= 0) {
    return fmt::format(
        "{} processes (line {}) are read as those that the base's machine has GPUs for", all.value,
        all.line);
  }
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
