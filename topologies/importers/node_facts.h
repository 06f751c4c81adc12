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
// between sockets) is the catalogue's, of the node with the same device.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/catalogue.h"

namespace plait {

struct NodeFacts {
  std::string name;  // of the file, for `name` of the node
  /// Where a device or NIC sits. Same text, same place; "" unknown.
  struct Place {
    std::string numa;
    std::string pcie_switch;  // "": on a root port
  };
  std::vector<Place> devices, nics;
  std::vector<MeshLink> pairs;         // NVLinks between two devices
  bool switches_hidden = false;        // `pairs` may go through NVSwitches
  std::int64_t links_to_switches = 0;  // NVLinks of each device onto NVSwitches
  int compute_capability = 0;          // 0: not said
  std::string cpu;                     // "intel", "amd", "arm"; "" not said
  std::int64_t rails = 0;              // 0: not said
  std::optional<BytesPerSecond> pcie_bandwidth, nic_bandwidth;
  std::vector<std::string> notes;  // what the import left out
};

struct ImportOptions {
  std::string device;  // catalogue name; "" as the file suggests
};

struct ImportedNode {
  std::string preset;  // the catalogue's node that fills what is not said
  NodeSpec node;
  Device device;
  std::string fabric;                           // catalogue name; "" the preset's
  std::optional<BytesPerSecond> nic_bandwidth;  // where no fabric of the catalogue has it
  std::vector<std::string> notes;
};

/// Throws InputError T011 where neither the file nor `options` says which device it is; C002.
ImportedNode node_from(const NodeFacts& facts, const ImportOptions& options);

/// What a scenario has behind "cluster": the preset and what differs from it. Compact JSON.
std::string cluster_json(const ImportedNode& imported);

}  // namespace plait
