#include <fmt/format.h>

#include <span>

#include "core/error.h"
#include "topologies/catalogue.h"
#include "topologies/gpu_part.h"
#include "topologies/graph.h"

namespace plait {
namespace {

constexpr std::int64_t kMostDevices = std::int64_t{1} << 24;

[[noreturn]] void refuse(std::string code, std::string problem, std::string expected,
                         std::string cure) {
  throw InputError({.code = std::move(code),
                    .problem = std::move(problem),
                    .expected = std::move(expected),
                    .cure = std::move(cure)});
}

void check_size(std::string_view what, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return;
  refuse("C004", fmt::format("{} is {}", what, value), fmt::format("1 to {}", most),
         fmt::format("set {} to a number in this range", what));
}

/// Another number of devices in the same kind of node. Trays of an NVLink domain bring their
/// sockets and NICs with them; elsewhere these belong to the box.
void resize(NodeSpec& node, std::int64_t devices) {
  check_size("devices_per_node", devices, kMostDevicesPerNode);
  if (node.family == Family::kNvlinkDomain) {
    node.sockets = ceil_div(node.sockets * devices, node.devices);
    node.nics = ceil_div(node.nics * devices, node.devices);
  }
  node.devices = devices;
  drop_links_beyond(node);
}

/// 0: processors, 1: NVIDIA's GPUs, 2: AMD's.
int maker_of(const Device& device) {
  return device.compute_capability >= 900 ? 2 : device.compute_capability > 0 ? 1 : 0;
}

/// Links between the GPUs of a board are its maker's.
void check_maker(const NodeSpec& node, const Device& device) {
  const std::vector<std::string> names = device_names();
  if (std::ranges::find(names, node.device) == names.end()) return;
  if (maker_of(find_device(node.device)) == maker_of(device)) return;
  refuse("C008",
         fmt::format("{} joins {} by their maker's links, and {} is another maker's", node.name,
                     node.device, device.name),
         "a device of the same maker", "choose the cluster that the device is in");
}

void check_node(const NodeSpec& node, const Device& device) {
  const bool one_box = node.family == Family::kHost || node.family == Family::kGpuParts;
  const bool nvlink = node.family != Family::kPcie && !one_box;
  if (nvlink && device.nvlink_bandwidth().value <= 0) {
    refuse("C008",
           fmt::format("{} connects devices by NVLink, and {} has none", node.name, device.name),
           "a device with nvlink_links and nvlink_link_bandwidth",
           "choose a cluster such as pcie-8");
  }
  if (nvlink) check_maker(node, device);
  if (node.family == Family::kGpuParts && node.nics > 0) {
    refuse("C007", fmt::format("{} has NICs, and its devices are parts of one GPU", node.name),
           "one GPU alone: its parts exchange data through its memory", "leave nics out");
  }
  const bool pcie = node.family != Family::kNvlinkDomain && !one_box;
  if (pcie && device.pcie_bandwidth.value <= 0) {
    refuse("C008",
           fmt::format("{} connects {} by PCIe, and its pcie_bandwidth is missing", node.name,
                       device.name),
           "a device with pcie_bandwidth", "set pcie_bandwidth of the device");
  }
  if (pcie && node.sockets > 1 && node.socket_bandwidth.value <= 0) {
    refuse("C008",
           fmt::format("{} has {} sockets and no socket_bandwidth", node.name, node.sockets),
           "the bandwidth between two sockets", "set socket_bandwidth of the node");
  }
  for (const MeshLink& m : node.mesh) {
    if (m.a == m.b || std::max(m.a, m.b) >= node.devices) {
      refuse("C004",
             fmt::format("NVLink from device {} to {} in a node of {}", m.a, m.b, node.devices),
             "two different devices of the node", "correct the mesh of the node");
    }
  }
}

void check_slowdowns(const ClusterSpec& spec, std::int64_t world_size) {
  for (const Slowdown& s : spec.slowdowns) {
    if (s.device >= 0 && s.device < world_size && s.factor >= 1) continue;
    refuse("C006", fmt::format("slowdown of device {} by {}", s.device, s.factor),
           fmt::format("a device from 0 to {} and a factor of at least 1", world_size - 1),
           "correct the slowdown");
  }
  for (std::size_t i = 0; i < spec.slowdowns.size(); ++i) {
    const std::int64_t device = spec.slowdowns[i].device;
    for (std::size_t before = 0; before < i; ++before) {
      if (spec.slowdowns[before].device != device) continue;
      refuse("C006",
             fmt::format("slowdowns.{} and slowdowns.{} are both of device {}", before, i, device),
             "each device once", "remove one of them; the product of both is one factor");
    }
  }
}

[[noreturn]] void refuse_others(const OtherNodes& other, const std::string& problem,
                                const std::string& expected,
                                const std::string& cure = "correct cluster.other_nodes") {
  refuse("C011", fmt::format("nodes {} to {} {}", other.first, other.last, problem), expected,
         cure);
}

/// Each node is of one kind, and all have as many devices and NICs.
void check_others(const std::vector<OtherNodes>& others, std::int64_t nodes, const NodeSpec& node,
                  const Device& device) {
  for (const OtherNodes& o : others) {
    if (o.last < o.first) {
      refuse_others(o, "run backwards", "the first node before the last",
                    fmt::format("write \"nodes\": [{}, {}]", o.last, o.first));
    }
    if (o.first < 0 || o.last >= nodes) {
      refuse_others(o, "are not in the cluster",
                    fmt::format("the first and the last of nodes 0 to {}", nodes - 1));
    }
    if (o.node.family == Family::kGpuParts)
      refuse_others(o, "are parts of a GPU", "a GPU in parts as the only node");
    for (const OtherNodes& before : std::span(others.data(), &o)) {
      if (o.first > before.last || o.last < before.first) continue;
      refuse_others(o, fmt::format("overlap nodes {} to {}", before.first, before.last),
                    "each node once");
    }
    if (o.node.devices != node.devices || o.node.nics != node.nics) {
      refuse_others(o, fmt::format("have {} devices and {} NICs", o.node.devices, o.node.nics),
                    fmt::format("as many as the other nodes: {} and {}", node.devices, node.nics));
    }
    if (maker_of(o.device) != maker_of(device)) {
      refuse_others(o, fmt::format("have {} beside {}", o.device.name, device.name),
                    "processors, NVIDIA's GPUs or AMD's only: no library's collectives join two");
    }
  }
}

NodeSpec node_of(const ClusterSpec& spec) {
  NodeSpec node = spec.own_node ? *spec.own_node : find_node(spec.preset);
  check_size("nodes", spec.nodes, kMostDevices);
  if (spec.devices_per_node) resize(node, *spec.devices_per_node);
  check_size("nodes * devices per node", spec.nodes * node.devices, kMostDevices);
  return node;
}

/// Rails, and the nodes under the same switches. A catalogue's fabric counts nodes with one NIC on
/// each rail: so many ports a rail's leaf has.
void set_pods(Fabric& fabric, const NodeSpec& node) {
  const std::int64_t rails = node.rails > 0 ? std::min(node.rails, node.nics) : node.nics;
  fabric.rails = std::max<std::int64_t>(1, rails);
  if (fabric.topology == Topology::kRailOptimised) {
    const std::int64_t on_rail = std::max<std::int64_t>(1, ceil_div(node.nics, fabric.rails));
    fabric.nodes_per_pod = std::max<std::int64_t>(1, fabric.nodes_per_pod / on_rail);
    return;
  }
  const std::int64_t alike = std::max<std::int64_t>(1, fabric.nodes_per_pod / fabric.rails);
  const std::int64_t fallback = fabric.topology == Topology::kTorus ? 1 : alike;
  fabric.nodes_per_pod = fabric.nodes_per_switch > 0 ? fabric.nodes_per_switch : fallback;
  fabric.rails = 1;
}

/// A fabric of fixed size must fit the machine.
void check_size_of(const Fabric& fabric, std::int64_t nodes) {
  const std::int64_t switches = ceil_div(nodes, fabric.nodes_per_pod);
  if (fabric.topology == Topology::kTorus) {
    std::int64_t places = 1;
    for (const std::int64_t length : fabric.dimensions) places *= std::min(length, kMostDevices);
    if (places == switches && !fabric.dimensions.empty()) return;
    const std::string shape =
        fabric.dimensions.empty()
            ? "without dimensions"
            : fmt::format("of {} switches", fmt::join(fabric.dimensions, " x "));
    refuse("C004",
           fmt::format("a torus {} for {} nodes, {} on each", shape, nodes, fabric.nodes_per_pod),
           fmt::format("dimensions whose product is {}", switches),
           "set the fabric's dimensions, or its nodes_per_switch");
  }
  if (fabric.topology != Topology::kDragonfly) return;
  const std::int64_t groups = ceil_div(switches, fabric.routers_per_group);
  if (groups - 1 <= fabric.routers_per_group * fabric.global_cables) return;
  refuse("C004",
         fmt::format("{} groups of a dragonfly, each with {} cables to others", groups,
                     fabric.routers_per_group * fabric.global_cables),
         "a cable between each two groups",
         "set routers_per_group, global_cables or nodes_per_switch of the fabric higher");
}

std::string cure_of_unjoined(const NodeSpec& node) {
  if (node.family == Family::kGpuParts) return "set nodes to 1";
  return node.nics == 0 ? "set nodes to 1, or cluster.node.nics and cluster.fabric"
                        : "set nodes to 1, or name a fabric";
}

Fabric fabric_of(const ClusterSpec& spec, const NodeSpec& node) {
  const std::string& name = spec.fabric.empty() ? node.fabric : spec.fabric;
  if (spec.nodes > 1 && (node.nics == 0 || (name.empty() && !spec.own_fabric))) {
    refuse("C007", fmt::format("{} nodes of {}, and no fabric joins them", spec.nodes, node.name),
           "nodes with NICs, and a fabric", cure_of_unjoined(node));
  }
  Fabric fabric;
  if (spec.own_fabric) {
    fabric = *spec.own_fabric;
  } else if (!name.empty()) {
    fabric = find_fabric(name);
  }
  set_pods(fabric, node);
  if (spec.nodes_per_pod) fabric.nodes_per_pod = *spec.nodes_per_pod;
  if (spec.oversubscription) fabric.oversubscription = *spec.oversubscription;
  check_size("nodes_per_pod", fabric.nodes_per_pod, kMostDevices);
  if (!(fabric.oversubscription >= 1 && fabric.oversubscription <= 1000)) {
    refuse("C004", fmt::format("oversubscription is {}", fabric.oversubscription), "1 to 1000",
           "set oversubscription to 1 for a fabric without any");
  }
  if (spec.nodes > 1) check_size_of(fabric, spec.nodes);
  return fabric;
}

/// From a device to host memory, as one device's share when all of them copy: devices behind a PCIe
/// switch divide its uplink.
Path host_path(const Island& island, const NodeSpec& node, const Device& device) {
  Path path = routes_from(island.links, island.devices[0]).distance[island.host_of[0]].path();
  path.bandwidth = std::min(path.bandwidth, device.host_bandwidth);
  if (node.pcie_switches > 0) {
    const std::int64_t sharers = ceil_div(node.devices, node.pcie_switches);
    path.bandwidth = std::min(path.bandwidth, node.pcie_bandwidth / static_cast<double>(sharers));
  }
  return path;
}

/// With as many devices in a node as elsewhere.
std::vector<OtherNodes> others_of(const ClusterSpec& spec, const NodeSpec& node,
                                  const Device& device) {
  std::vector<OtherNodes> out = spec.other_nodes;
  for (OtherNodes& other : out) {
    if (spec.devices_per_node) resize(other.node, *spec.devices_per_node);
    check_node(other.node, other.device);
  }
  check_others(out, spec.nodes, node, device);
  return out;
}

NodeKind kind_of(const Island& island, const NodeSpec& node, const Device& device) {
  const bool several = node.devices_per_host > 0;
  return {device,
          host_path(island, node, device),
          node.nvswitch_generation,
          node.cpu,
          node.host_slowdown,
          several ? ceil_div(node.devices, node.devices_per_host) : 1};
}

/// "8 x hgx-h100 + 8 x dgx-a100 over infiniband-ndr".
std::string name_of(const ClusterSpec& spec, const NodeSpec& node, const Fabric& fabric) {
  if (spec.nodes == 1) return node.name;
  std::int64_t rest = spec.nodes;
  std::string others;
  for (const OtherNodes& o : spec.other_nodes) {
    const std::int64_t count = o.last - o.first + 1;
    const bool alike = o.node.name == node.name;  // but for their devices
    others += fmt::format(" + {} x {}{}", count, o.node.name,
                          alike ? " of " + o.device.name : std::string());
    rest -= count;
  }
  return fmt::format("{} x {}{} over {}", rest, node.name, others, fabric.name);
}

}  // namespace

Cluster make_cluster(const ClusterSpec& spec) {
  const NodeSpec node = node_of(spec);
  const Fabric fabric = fabric_of(spec, node);
  Cluster out;
  const Device whole = spec.device ? *spec.device : find_device(node.device);
  const bool in_parts = node.family == Family::kGpuParts;
  const Device device = in_parts ? part_of(whole, node.devices) : whole;
  check_node(node, device);
  const std::vector<OtherNodes> others = others_of(spec, node, device);
  check_slowdowns(spec, spec.nodes * node.devices);
  out.name = name_of(spec, node, fabric);
  out.devices_per_node = node.devices;
  out.nodes = spec.nodes;
  out.nics_per_node = node.nics;
  out.nodes_per_pod = fabric.nodes_per_pod;
  out.nic_bandwidth = fabric.bandwidth;
  out.graph = make_graph(node, whole, fabric, spec.nodes, others, spec.faults);
  static_cast<NodeKind&>(out) = kind_of(out.graph->kinds[0].island, node, device);
  for (std::size_t k = 0; k < others.size(); ++k) {
    const OtherNodes& o = others[k];
    out.others.push_back(
        {kind_of(out.graph->kinds[k + 1].island, o.node, o.device), o.first, o.last});
  }
  out.slowdowns = spec.slowdowns;
  out.variation = in_parts ? 0 : spec.variation;  // of one GPU they are alike
  out.jitter = spec.jitter;
  out.seed = spec.seed;
  return out;
}

}  // namespace plait
