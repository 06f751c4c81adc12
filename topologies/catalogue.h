#pragma once
// Named hardware: devices, nodes and fabrics, each a JSON file in topologies/catalogue/ that is
// compiled into the library, every number with its unit and its source. The same tables of fields
// read a user's own device, node or fabric; there, sources are optional.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.h"
#include "topologies/cluster.h"
#include "topologies/fabric.h"
#include "topologies/fault.h"
#include "topologies/node_spec.h"

namespace plait {

/// What a user says about a machine. Whatever is absent comes from the preset.
struct ClusterSpec {
  std::string preset = "hgx-h100";  // one of cluster_names()
  std::int64_t nodes = 1;
  std::string fabric = {};                            // one of fabric_names(); "": the node's own
  std::optional<Device> device = {};                  // instead of the preset's
  std::optional<NodeSpec> own_node = {};              // instead of the preset
  std::optional<Fabric> own_fabric = {};              // instead of `fabric`
  std::optional<std::int64_t> devices_per_node = {};  // fewer or more than the preset has
  std::optional<std::int64_t> nodes_per_pod = {};     // nodes under one set of leaf switches
  std::optional<double> oversubscription = {};        // of the leaf switches
  std::vector<OtherNodes> other_nodes = {};
  std::vector<Slowdown> slowdowns = {};
  std::vector<Fault> faults = {};
  double variation = 0;
  double jitter = 0;
  std::uint64_t seed = 1;
};

/// Throws InputError: C001 unknown cluster, C002 unknown device, C003 unknown fabric, C004 sizes
/// (nodes, devices, pods) out of range, C006 a slowdown of a device that is not there or below 1,
/// C007 nodes that no fabric joins, C009 devices that failures cut off, C010 a fault of a part
/// that is not there, C011 other nodes that are not there, twice, or do not fit the rest.
Cluster make_cluster(const ClusterSpec& spec);

/// Throw InputError C002, C001, C003 with the nearest name.
Device find_device(const std::string& name);
NodeSpec find_node(const std::string& name);
Fabric find_fabric(const std::string& name);

std::vector<std::string> device_names();
std::vector<std::string> cluster_names();
std::vector<std::string> fabric_names();

/// The JSON of a device, a node, a fabric.
const Table<Device>& device_table();
const Table<NodeSpec>& node_table();
const Table<Fabric>& fabric_table();

/// A file of the catalogue, as compiled in.
struct CatalogueEntry {
  std::string_view kind;  // "devices", "clusters", "fabrics", "frameworks"
  std::string_view name;  // "h100-sxm"
  std::string_view json;
};
/// Sorted by kind and name.
std::vector<CatalogueEntry> catalogue();

}  // namespace plait
