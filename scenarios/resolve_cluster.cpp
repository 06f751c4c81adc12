#include <fmt/format.h>

#include <algorithm>

#include "scenarios/resolve.h"

namespace plait {
namespace {

/// The preset with the changes of `json` applied. When none is named it is `fallback`, unless that
/// is a name of the user's own, written out in `json`.
template <class T, class Find>
void apply_changes(const Json* json, Named<T>& part, const Table<Named<T>>& table,
                   const std::string& fallback, const std::vector<std::string>& names, Find find) {
  const bool own = json != nullptr && std::ranges::find(names, fallback) == names.end();
  if (part.preset.empty() && !own) part.preset = fallback;
  const Base base = part.preset.empty() ? Base::kNone : Base::kGiven;
  if (base == Base::kGiven) part.value = find(part.preset);
  if (json != nullptr) table.read(*json, part, base);
}

/// Where the cause of an error of make_cluster is written.
std::string path_of(const std::string& code) {
  if (code == "C002") return "cluster.node.device";
  if (code == "C003") return "cluster.node.fabric";
  if (code == "C004") return "cluster.nodes";
  if (code == "C006") return "cluster.slowdowns";
  if (code == "C007") return "cluster.fabric";
  if (code == "C011") return "cluster.other_nodes";
  if (code == "C009" || code == "C010") return "cluster.faults";
  return "cluster";
}

/// A bandwidth of all NVLinks needs some.
void check_nvlinks(const Json& json, const Device& device) {
  const Json* written = json.find("device");
  if (written != nullptr) written = written->find("nvlink_bandwidth");
  if (written == nullptr || device.nvlink_links > 0) return;
  throw InputError({"C008", "the device " + device.name + " has no NVLink", written->where(),
                    "a device with nvlink_links", "set cluster.device.pcie_bandwidth"});
}

/// The named preset, or else `base`, with the changes of `json` applied.
template <class T, class Find>
void apply_over(const Json* json, Named<T>& part, const Table<Named<T>>& table, T base, Find find) {
  part.value = part.preset.empty() ? std::move(base) : find(part.preset);
  if (json != nullptr) table.read(*json, part, Base::kGiven);
}

/// Fills `part`: what it does not name is as in the rest of the cluster.
OtherNodes resolve_other(const Json& json, OtherNodesPart& part, const ClusterPart& cluster) {
  if (part.nodes.size() != 2) {
    const auto [first, last] =
        std::ranges::minmax(part.nodes.empty() ? std::vector<std::int64_t>{0} : part.nodes);
    throw InputError({"C011", fmt::format("a range of {} numbers", part.nodes.size()),
                      json.find("nodes")->where(), "the first and the last node",
                      fmt::format("write \"nodes\": [{}, {}]", first, last)});
  }
  const bool alike = part.preset.empty();
  apply_over(json.find("node"), part.node, node_part_table(),
             alike ? cluster.node.value : find_node(part.preset), find_node);
  const std::string& device = part.node.value.device;
  apply_over(
      json.find("device"), part.device, device_part_table(),
      alike && device == cluster.node.value.device ? cluster.device.value : find_device(device),
      find_device);
  check_nvlinks(json, part.device.value);
  return {part.nodes[0], part.nodes[1], part.node.value, part.device.value};
}

std::vector<OtherNodes> resolve_others(const Json& json, ClusterPart& part) {
  std::vector<OtherNodes> out;
  for (std::size_t i = 0; i < part.other_nodes.size(); ++i) {
    const Json& other = *json.find("other_nodes")->children()[i];
    out.push_back(resolve_other(other, part.other_nodes[i], part));
  }
  return out;
}

/// The catalogue's.
std::string processor_names() {
  std::string out;
  for (const std::string& name : device_names()) {
    if (find_device(name).compute_capability == 0) out += (out.empty() ? "" : ", ") + name;
  }
  return out;
}

void require_processor(const Json& json, const Device& device) {
  if (device.compute_capability == 0) return;
  throw InputError({"C015", fmt::format("{}, a GPU, as the processor of a node", device.name),
                    json.where(), fmt::format("a processor, such as {}", processor_names()),
                    "choose one, or write compute_capability 0 with your own"});
}

/// Whether the scenario says how many nodes are under the same leafs: it means nodes, where a
/// catalogue's fabric means ports. Without rails nodes_per_switch says so too, and goes before.
bool has_pods(const Json* fabric, const Fabric& all) {
  if (fabric == nullptr || fabric->find("nodes_per_pod") == nullptr) return false;
  return all.topology == Topology::kRailOptimised || all.nodes_per_switch == 0;
}

/// Whether the scenario says how many devices a node has, and nothing of their links.
bool changes_devices_alone(const Json* node) {
  return node != nullptr && node->is(Json::Kind::kObject) && node->find("devices") != nullptr &&
         node->find("mesh") == nullptr;
}

/// Fills `part` and returns the same in make_cluster's words.
ClusterSpec resolve_parts(const Json& json, ClusterPart& part) {
  const Json* node = json.find("node");
  const Json* fabric = json.find("fabric");
  if (part.preset.empty() && node == nullptr) {
    refuse_missing(json,
                   {{"preset", "a kind of node from the catalogue, or \"node\" written out"}});
  }
  apply_changes(node, part.node, node_part_table(), part.preset, cluster_names(), find_node);
  if (changes_devices_alone(node)) drop_links_beyond(part.node.value);
  apply_changes(json.find("device"), part.device, device_part_table(), part.node.value.device,
                device_names(), find_device);
  check_nvlinks(json, part.device.value);
  if (const Json* processor = json.find("processor")) {
    apply_over(processor, part.processor, device_part_table(), Device{}, find_device);
    require_processor(*processor, part.processor.value);
  }
  const bool has_fabric = fabric != nullptr || !part.node.value.fabric.empty();
  if (has_fabric) {
    apply_changes(fabric, part.fabric, fabric_part_table(), part.node.value.fabric, fabric_names(),
                  find_fabric);
  }
  ClusterSpec spec;
  spec.nodes = part.nodes;
  spec.own_node = part.node.value;
  spec.device = part.device.value;
  if (has_fabric) spec.own_fabric = part.fabric.value;
  if (has_pods(fabric, part.fabric.value)) spec.nodes_per_pod = part.fabric.value.nodes_per_pod;
  if (part.devices_per_node > 0) spec.devices_per_node = part.devices_per_node;
  spec.other_nodes = resolve_others(json, part);
  spec.slowdowns = part.slowdowns;
  spec.faults = part.faults;
  spec.variation = part.variation;
  spec.jitter = part.jitter;
  spec.seed = static_cast<std::uint64_t>(part.seed);
  return spec;
}

}  // namespace

Cluster resolve_cluster(const Json& json, ClusterPart& part) {
  try {
    Cluster cluster = make_cluster(resolve_parts(json, part));
    part.devices_per_node = cluster.devices_per_node;
    Fabric& fabric = part.fabric.value;
    fabric.nodes_per_pod = cluster.nodes_per_pod;
    if (fabric.topology != Topology::kRailOptimised)
      fabric.nodes_per_switch = cluster.nodes_per_pod;
    return cluster;
  } catch (const InputError& e) {
    InputError::Text text = e.text();
    if (text.where.file.empty() && text.where.path.empty()) text.where.path = path_of(text.code);
    throw InputError(std::move(text));
  }
}

}  // namespace plait
