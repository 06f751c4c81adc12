#pragma once
// A node as the catalogue and users describe it: what it is made of, before it is a graph.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "topologies/cluster.h"

namespace plait {

enum class Family : std::uint8_t { kNvSwitch, kNvlinkMesh, kNvlinkDomain, kPcie, kHost, kGpuParts };

/// Two devices and how many NVLinks join them directly.
struct MeshLink {
  std::int64_t a = 0, b = 0, links = 1;
};

/// Routes are tabulated for each pair of devices of a node, so its size is limited: to eight NVL72
/// racks in one NVLink domain, the largest that has been announced.
inline constexpr std::int64_t kMostDevicesPerNode = 576;

/// A node as in topologies/catalogue/clusters/*.json. Bandwidths are per direction; latencies of
/// switches and sockets are the time through them, those of links the time between their ends.
struct NodeSpec {
  std::string name;
  std::string device;  // catalogue name
  std::string fabric;  // catalogue name; "" where the node has no NICs
  Family family = Family::kNvSwitch;
  std::int64_t devices = 8;
  std::int64_t devices_per_host = 0;  // of a node of several hosts; 0: all
  std::string cpu = "intel";
  std::string processor;  // catalogue name of all that a node has; "": none is known
  double host_slowdown = 1;
  Seconds nvlink_latency;
  int nvswitch_generation = 0;
  Seconds nvswitch_latency;
  std::vector<MeshLink> mesh;      // kNvlinkMesh
  std::int64_t sockets = 2;        // CPU sockets; a device, switch or NIC belongs to one of them
  std::int64_t pcie_switches = 0;  // 0: devices and NICs sit on root ports of the sockets
  BytesPerSecond pcie_bandwidth;   // of a slot, and between a PCIe switch and its socket
  Seconds pcie_latency, pcie_switch_latency, socket_latency;
  BytesPerSecond socket_bandwidth;  // that traffic achieves between two neighbouring sockets
  Seconds socket_link_latency;
  std::int64_t nics = 0;
  std::int64_t rails = 0;  // 0: one rail per NIC
};

/// Nodes `first` to `last`, both included, of another kind than the rest.
struct OtherNodes {
  std::int64_t first = 0, last = 0;
  NodeSpec node;
  Device device;
};

/// Leaves out the links of devices that the node does not have: of one with fewer than another.
inline void drop_links_beyond(NodeSpec& node) {
  std::erase_if(node.mesh,
                [&node](const MeshLink& m) { return std::max(m.a, m.b) >= node.devices; });
}

}  // namespace plait
