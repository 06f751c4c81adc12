#include "topologies/importers/node_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "core/error.h"
#include "core/json.h"
#include "topologies/importers/choose_device.h"
#include "topologies/importers/product_device.h"

namespace plait {
namespace {

/// Neighbours share a place exactly where blocks give them the same.
bool in_blocks(const std::vector<std::string>& places, std::int64_t blocks) {
  const auto n = static_cast<std::int64_t>(places.size());
  std::set<std::string> seen;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::string& here = places[static_cast<std::size_t>(i)];
    const bool same = i > 0 && here == places[static_cast<std::size_t>(i - 1)];
    const bool same_block = i > 0 && i * blocks / n == (i - 1) * blocks / n;
    if (same != same_block || (!same && !seen.insert(here).second)) return false;
  }
  return true;
}

std::vector<std::string> texts(const std::vector<NodeFacts::Place>& places,
                               std::string NodeFacts::Place::*what) {
  std::vector<std::string> out;
  for (const NodeFacts::Place& p : places) out.push_back(p.*what);
  return out;
}

std::int64_t distinct(const std::vector<std::string>& texts) {
  return std::ssize(std::set<std::string>(texts.begin(), texts.end()));
}

/// Of NVLinks that the usual node of such a device does not have: those of cards on bridges.
Seconds latency_of_bridges() { return find_node("h100-nvl-8").nvlink_latency; }

void set_family(NodeSpec& node, const NodeFacts& facts, const NvlinkReading& nvlink) {
  node.mesh.clear();
  if (nvlink.kind != NvlinkReading::Kind::kNone && node.nvlink_latency.value <= 0)
    node.nvlink_latency = latency_of_bridges();
  switch (nvlink.kind) {
    case NvlinkReading::Kind::kNone: node.family = Family::kPcie; break;
    case NvlinkReading::Kind::kMesh:
      node.family = Family::kNvlinkMesh;
      node.mesh = facts.pairs;
      break;
    case NvlinkReading::Kind::kSwitch:
      if (node.family != Family::kNvlinkDomain) node.family = Family::kNvSwitch;
      break;
  }
  if (node.family != Family::kNvSwitch && node.family != Family::kNvlinkDomain) {
    node.nvswitch_generation = 0;
  }
}

void set_pcie(NodeSpec& node, const NodeFacts& facts, std::vector<std::string>& notes) {
  const std::vector<std::string> numa = texts(facts.devices, &NodeFacts::Place::numa);
  const std::vector<std::string> switches = texts(facts.devices, &NodeFacts::Place::pcie_switch);
  node.sockets = distinct(numa);
  const bool all = std::ranges::find(switches, "") == switches.end();
  const bool none = std::ranges::all_of(switches, [](const auto& s) { return s.empty(); });
  node.pcie_switches = all ? distinct(switches) : 0;
  if (!all && !none) {
    notes.emplace_back(
        "some devices are on root ports, some on PCIe switches: all are taken to be "
        "on root ports");
  }
  if (!in_blocks(numa, node.sockets)) {
    notes.emplace_back(
        "devices are not dealt to the sockets in blocks of their order; the model's "
        "are");
  }
  if (node.pcie_switches > 0 && !in_blocks(switches, node.pcie_switches)) {
    notes.emplace_back(
        "devices are not dealt to the PCIe switches in blocks of their order; the "
        "model's are");
  }
}

/// NICs near no device, where others are near one, serve storage and management.
std::int64_t compute_nics(const NodeFacts& facts, std::vector<std::string>& notes) {
  const auto near = [&](const NodeFacts::Place& nic) {
    return !nic.pcie_switch.empty() && std::ranges::any_of(facts.devices, [&](const auto& d) {
      return d.pcie_switch == nic.pcie_switch;
    });
  };
  const std::int64_t count = std::ranges::count_if(facts.nics, near);
  const std::int64_t far = std::ssize(facts.nics) - count;
  if (count == 0 || far == 0) return std::ssize(facts.nics);
  notes.push_back(fmt::format(
      "{} of {} NICs share no PCIe switch with a device: left out as storage or management", far,
      std::ssize(facts.nics)));
  return count;
}

void set_fabric(ImportedNode& out, const NodeFacts& facts) {
  if (!facts.nic_bandwidth || out.node.nics == 0) return;
  const auto matches = [&](const std::string& name) {
    return !name.empty() && find_fabric(name).bandwidth == *facts.nic_bandwidth;
  };
  if (matches(out.node.fabric)) return;
  std::vector<std::string> fitting;
  for (const std::string& name : fabric_names()) {
    if (matches(name)) fitting.push_back(name);
  }
  if (fitting.empty()) {
    out.nic_bandwidth = facts.nic_bandwidth;
    return;
  }
  // ConnectX cards are on either; a cloud's own fabric has other cards.
  std::stable_partition(fitting.begin(), fitting.end(), [&](const std::string& name) {
    return facts.connectx && find_fabric(name).link == LinkClass::kInfiniband;
  });
  out.fabric = fitting.front();
  const std::span others(fitting.begin() + 1, fitting.end());
  out.notes.push_back(fmt::format("fabric taken to be {} by the speed of the NICs{}{}", out.fabric,
                                  others.empty() ? "" : "; as fast: ", fmt::join(others, ", ")));
}

/// The members whose text differs from the base's.
template <class T>
std::string changes(const Table<T>& table, const T& value, const T& base) {
  std::vector<JsonMember> members;
  for (const Field<T>& f : table.fields()) {
    std::string text = f.write(value);
    if (text != f.write(base)) members.push_back({f.key, std::move(text)});
  }
  return members.empty() ? "" : json_object(std::move(members), false);
}

/// What the file says of links, places and NICs.
void set_linked(ImportedNode& out, const NodeFacts& facts, const std::string& wanted) {
  const NvlinkReading nvlink = read_nvlinks(facts, wanted, out.notes);
  out.device = nvlink.device;
  out.preset = usual_node(out.device, std::ssize(facts.devices), nvlink.kind);
  out.node = find_node(out.preset);
  out.node.name = facts.name;
  out.node.device = out.device.name;
  out.node.devices = std::ssize(facts.devices);
  set_family(out.node, facts, nvlink);
  set_pcie(out.node, facts, out.notes);
  out.node.nics = compute_nics(facts, out.notes);
  out.node.rails = facts.rails;
  if (!facts.cpu.empty()) out.node.cpu = facts.cpu;
  if (out.node.socket_bandwidth.value <= 0 && out.node.sockets > 1 &&
      out.node.family != Family::kNvlinkDomain) {
    out.node.socket_bandwidth = kSocketBandwidth;
    out.notes.emplace_back("bandwidth between sockets assumed");
  }
  set_fabric(out, facts);
}

/// The catalogue's node with so many of these devices.
void set_listed(ImportedNode& out, const NodeFacts& facts, const std::string& wanted) {
  const auto devices = std::ssize(facts.devices);
  out.device = listed_device(facts, wanted);
  out.preset = usual_node(out.device, devices);
  out.node = find_node(out.preset);
  if (devices != out.node.devices) out.devices_per_node = devices;
  out.node.name = facts.name;
  out.node.device = out.device.name;
  out.notes.push_back(
      fmt::format("a list of GPUs shows no NVLinks, NICs and sockets: they are those of {} "
                  "(nvidia-smi topo -m shows them)",
                  out.preset));
}

void set_pcie_bandwidth(ImportedNode& out, const NodeFacts& facts) {
  // A module with its processor has NICs behind PCIe; what files say is of the GPU's own link.
  if (!facts.pcie_bandwidth || out.device.host_link != LinkClass::kPcie) return;
  // Data sheets round: 63 GB/s for 63.015.
  if (std::abs(*facts.pcie_bandwidth / out.node.pcie_bandwidth - 1) <= 0.01) return;
  out.node.pcie_bandwidth = BytesPerSecond(std::round(facts.pcie_bandwidth->value / 1e7) * 1e7);
  out.device.pcie_bandwidth = out.node.pcie_bandwidth;
}

/// Kernels are timed by the data sheet's power, so a limit counts where it is below that. Drivers
/// keep up to 2.2 % of the memory (nvidia-smi beside PyTorch, topologies/catalogue/devices).
void set_limits(ImportedNode& out, const NodeFacts& facts) {
  constexpr double kSamePower = 0.01, kSameMemory = 0.03;
  const Device& sheet = out.device;
  if (facts.power_limit && facts.power_limit->value < sheet.power.value * (1 - kSamePower)) {
    std::string note = fmt::format("power limit of {}, where {} has {}",
                                   to_text(*facts.power_limit), sheet.name, to_text(sheet.power));
    if (facts.default_power_limit) {
      note += fmt::format(" (default: {})", to_text(*facts.default_power_limit));
    }
    out.notes.push_back(std::move(note));
    out.device.power = *facts.power_limit;
  }
  if (!facts.memory) return;
  const double ratio =
      static_cast<double>(facts.memory->value) / static_cast<double>(sheet.memory.value);
  if (std::abs(ratio - 1) <= kSameMemory) return;
  out.notes.push_back(fmt::format("memory of {}, where {} has {}", to_text(*facts.memory),
                                  sheet.name, to_text(sheet.memory)));
  out.device.memory = *facts.memory;
}

}  // namespace

ImportedNode node_from(const NodeFacts& facts, const ImportOptions& options) {
  ImportedNode out;
  out.notes = facts.notes;
  const std::string wanted = wanted_device(facts, options.device, out.notes);
  if (facts.links_hidden) {
    set_listed(out, facts, wanted);
  } else {
    set_linked(out, facts, wanted);
  }
  set_pcie_bandwidth(out, facts);
  set_limits(out, facts);
  return out;
}

std::string cluster_json(const ImportedNode& imported) {
  const NodeSpec base = find_node(imported.preset);
  std::vector<JsonMember> members = {{"preset", json_quote(imported.preset)}};
  members.push_back({"node", changes(node_table(), imported.node, base)});
  const std::string device =
      changes(device_table(), imported.device, find_device(imported.device.name));
  if (imported.devices_per_node) {
    members.push_back({"devices_per_node", std::to_string(*imported.devices_per_node)});
  }
  if (!device.empty()) members.push_back({"device", device});
  if (!imported.fabric.empty()) members.push_back({"fabric", json_quote(imported.fabric)});
  if (imported.nic_bandwidth) {
    members.push_back(
        {"fabric", json_object({{"bandwidth", json_quote(exact_text(*imported.nic_bandwidth))}})});
  }
  return json_object(std::move(members), false);
}

}  // namespace plait
