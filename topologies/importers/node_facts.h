#pragma once
// What a file says of one node, and the node of our families that is most like it.
//
//   NVLinks onto NVSwitches                -> nvswitch (nvlink_domain where the device's rack is
//   one) NVLinks between pairs of devices       -> nvlink_mesh no NVLink -> pcie NUMA nodes that
//   devices belong to      -> sockets, in a chain devices and NICs that reach each other without a
//   CPU -> one PCIe switch
//
// Families spread devices and NICs over switches and sockets in blocks, in their order; a file that
// says otherwise is imported with a note. What a file does not say (latencies, the bandwidth
// between sockets) is the catalogue's, of the node with the same device; of a list of GPUs, which
// shows no links at all, everything but the devices.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "topologies/catalogue.h"

namespace plait {

struct NodeFacts {
  std::string name;  // of the file, for `name` of the node
  /// What the driver calls `count` of the devices; cut off where it ends with three dots.
  struct Product {
    std::string name;
    std::int64_t count = 1;
    Bytes memory;  // all of it; 0 not said
    Where where;
  };
  std::vector<Product> products;  // different ones
  /// Where a device or NIC sits. Same text, same place; "" unknown.
  struct Place {
    std::string numa;
    std::string pcie_switch;  // "": on a root port
  };
  std::vector<Place> devices, nics;
  std::vector<MeshLink> pairs;         // NVLinks between two devices
  bool links_hidden = false;           // a list of `devices`: no links, places and NICs are known
  bool switches_hidden = false;        // `pairs` may go through NVSwitches
  std::int64_t links_to_switches = 0;  // NVLinks of each device onto NVSwitches
  int compute_capability = 0;          // 0: not said
  std::string cpu;                     // "intel", "amd", "arm"; "" not said
  std::int64_t rails = 0;              // 0: not said
  std::optional<BytesPerSecond> pcie_bandwidth, nic_bandwidth;
  bool connectx = false;  // NICs are Mellanox's, by their names: mlx5_0
  std::optional<Watts> power_limit, default_power_limit;  // of a device
  std::optional<Bytes> memory;                            // of a device, that a program can use
  std::vector<std::string> notes;                         // what the import left out
};

struct ImportOptions {
  std::string device;  // catalogue name; "" as the file suggests
};

struct ImportedNode {
  std::string preset;  // the catalogue's node that fills what is not said
  NodeSpec node;
  Device device;
  std::optional<std::int64_t> devices_per_node;  // where a list has another number than the preset
  std::string fabric;                            // catalogue name; "" the preset's
  std::optional<BytesPerSecond> nic_bandwidth;   // where no fabric of the catalogue has it
  std::vector<std::string> notes;
};

/// Throws InputError T011 where neither the file nor `options` says which device it is, T015
/// devices of several kinds, T016 a product that the catalogue does not have or that may be
/// several; C002.
ImportedNode node_from(const NodeFacts& facts, const ImportOptions& options);

/// What a scenario has behind "cluster": the preset and what differs from it. Compact JSON.
std::string cluster_json(const ImportedNode& imported);

}  // namespace plait
