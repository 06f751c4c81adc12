#include "topologies/importers/choose_device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "core/error.h"
#include "topologies/node_spec.h"

namespace plait {
namespace {

using Kind = NvlinkReading::Kind;

/// Links that leave the device with most of them, when pairs are joined directly.
std::int64_t most_direct_links(const NodeFacts& facts) {
  std::vector<std::int64_t> sums(facts.devices.size());
  for (const MeshLink& m : facts.pairs) {
    sums[static_cast<std::size_t>(m.a)] += m.links;
    sums[static_cast<std::size_t>(m.b)] += m.links;
  }
  return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
}

bool all_pairs_alike(const NodeFacts& facts) {
  const std::size_t n = facts.devices.size();
  return !facts.pairs.empty() && facts.pairs.size() == n * (n - 1) / 2 &&
         std::ranges::all_of(facts.pairs,
                             [&](const MeshLink& m) { return m.links == facts.pairs[0].links; });
}

/// Clouds join the machines of others by networks of their own, which the file of one node does not
/// show: without a hint it is the maker's machine.
bool is_cloud(const std::string& node) {
  return node.starts_with("aws-") || node.starts_with("gcp-");
}

bool has_node(const std::string& device) {
  return std::ranges::any_of(cluster_names(), [&](const auto& n) {
    return !is_cloud(n) && find_node(n).device == device;
  });
}

/// Devices that could be the file's, the likeliest first.
std::vector<Device> candidates(const NodeFacts& facts, std::int64_t links) {
  std::vector<Device> out;
  for (const std::string& name : device_names()) {
    Device d = find_device(name);
    const bool same_chip =
        facts.compute_capability == 0 || d.compute_capability == facts.compute_capability;
    if (d.compute_capability > 0 && same_chip && d.nvlink_links == links) out.push_back(d);
  }
  const auto key = [&](const Device& d) {
    const bool arm = facts.cpu == "arm", c2c = d.host_link == LinkClass::kC2c;
    return std::tuple(arm != c2c, d.compute_capability, !has_node(d.name), d.name);
  };
  std::sort(out.begin(), out.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return out;
}

/// Ways to read the NVLinks of the file, the likeliest first: what they lead to and how many a
/// device has.
std::vector<std::pair<Kind, std::int64_t>> readings(const NodeFacts& facts) {
  if (facts.links_to_switches > 0) return {{Kind::kSwitch, facts.links_to_switches}};
  if (facts.pairs.empty()) return {{Kind::kNone, 0}};
  const std::int64_t direct = most_direct_links(facts);
  if (!facts.switches_hidden || !all_pairs_alike(facts)) return {{Kind::kMesh, direct}};
  return {{Kind::kSwitch, facts.pairs[0].links}, {Kind::kMesh, direct}};
}

Kind kind_of(Family family) {
  switch (family) {
    case Family::kNvSwitch:
    case Family::kNvlinkDomain: return Kind::kSwitch;
    case Family::kNvlinkMesh: return Kind::kMesh;
    case Family::kPcie:
    case Family::kHost:
    case Family::kGpuParts: return Kind::kNone;
  }
  return Kind::kNone;
}

[[noreturn]] void refuse(const NodeFacts& facts, const std::string& has) {
  throw InputError(
      {.code = "T011",
       .problem = fmt::format("{} does not say which device this is: {}", facts.name, has),
       .where = {},
       .expected = fmt::format("one of {}", fmt::join(device_names(), ", ")),
       .cure = "name it with --device"});
}

[[noreturn]] void refuse_links(const NodeFacts& facts, std::int64_t links) {
  std::string has = links > 0 ? fmt::format("{} NVLinks each", links) : "no NVLinks";
  if (facts.compute_capability > 0) {
    has += fmt::format(" and compute capability {}.{}", facts.compute_capability / 10,
                       facts.compute_capability % 10);
  }
  refuse(facts, has);
}

/// Characters that two names begin with.
std::ptrdiff_t common_prefix(const std::string& a, const std::string& b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

/// On a baseboard, or with its processor on a module; else a card in a slot. The catalogue's names
/// say so.
bool is_module(const Device& device) {
  return device.name.find("-sxm") != std::string::npos || device.host_link == LinkClass::kC2c;
}

/// In a slot, where NVLink bridges join it to others: on no board with NVSwitches.
bool is_card(const Device& device) {
  const auto on_switches = [&](const std::string& name) {
    const NodeSpec node = find_node(name);
    return node.device == device.name && kind_of(node.family) == Kind::kSwitch;
  };
  return !is_module(device) && std::ranges::none_of(cluster_names(), on_switches);
}

/// And the same kind of host: Grace sits on a module with its GPU.
bool same_chip(const Device& a, const Device& b) {
  return a.compute_capability == b.compute_capability && a.host_link == b.host_link;
}

/// The node of cards of the same chip that are joined like these; or else of any cards.
std::string node_of_cards(const Device& device, Kind kind) {
  for (const std::string& name : cluster_names()) {
    const NodeSpec node = find_node(name);
    const Device d = find_device(node.device);
    if (is_cloud(name) || node.family == Family::kGpuParts || is_module(d)) continue;
    if (same_chip(d, device) && kind_of(node.family) == kind) return name;
  }
  return "pcie-8";
}

}  // namespace

NvlinkReading read_nvlinks(const NodeFacts& facts, const std::string& wanted,
                           std::vector<std::string>& notes) {
  const auto ways = readings(facts);
  NvlinkReading out{ways[0].first, {}};
  std::int64_t links = ways[0].second;
  if (!wanted.empty()) {
    out.device = find_device(wanted);
    for (const auto& [kind, count] : ways) {
      if (count == out.device.nvlink_links) out.kind = kind, links = count;
    }
    if (out.kind != Kind::kNone && links != out.device.nvlink_links) {
      notes.push_back(
          fmt::format("{} NVLinks each, where {} has {}", links, wanted, out.device.nvlink_links));
      out.device.nvlink_links = static_cast<int>(links);
    }
    return out;
  }
  // Without NVLink and without a compute capability every device is as likely as another.
  const bool blind = ways[0].first == Kind::kNone && facts.compute_capability == 0;
  for (const auto& [kind, count] : ways) {
    std::vector<Device> fitting = blind ? std::vector<Device>{} : candidates(facts, count);
    if (kind == Kind::kSwitch) std::erase_if(fitting, is_card);
    if (fitting.empty()) continue;
    out = {kind, fitting[0]};
    std::vector<std::string> others;
    for (std::size_t i = 1; i < fitting.size(); ++i) others.push_back(fitting[i].name);
    if (!others.empty()) {
      notes.push_back(fmt::format("device taken to be {}; {} would fit too (--device)",
                                  fitting[0].name, fmt::join(others, ", ")));
    }
    return out;
  }
  refuse_links(facts, links);
}

Device listed_device(const NodeFacts& facts, const std::string& wanted) {
  if (wanted.empty()) refuse(facts, "the list has no product names");
  return find_device(wanted);
}

std::string usual_node(const Device& device, std::int64_t devices, std::optional<Kind> kind) {
  // A card is not on NVSwitches; what is, is on a board.
  const bool module = is_module(device) || kind == Kind::kSwitch;
  std::string best;
  std::tuple<bool, std::ptrdiff_t, bool, bool> best_likeness;
  for (const std::string& name : cluster_names()) {
    const NodeSpec node = find_node(name);
    if (is_cloud(name) || node.family == Family::kGpuParts) continue;
    const bool same = node.device == device.name;
    const Device d = find_device(node.device);
    const bool alike = module && is_module(d) && same_chip(d, device);
    const std::tuple likeness{same, common_prefix(d.name, device.name),
                              kind_of(node.family) == kind, node.devices == devices};
    if (!(same || alike) || (!best.empty() && likeness <= best_likeness)) continue;
    best = name, best_likeness = likeness;
  }
  return best.empty() ? node_of_cards(device, kind.value_or(Kind::kNone)) : best;
}

}  // namespace plait
