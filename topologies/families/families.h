#pragma once
// Families of topologies: each is a function from a few numbers to a graph. The islands (one node
// or one NVLink domain) are made from a NodeSpec, the fabric between them from a Fabric.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "topologies/cabling.h"
#include "topologies/node_spec.h"

namespace plait {

/// Devices that are fully connected by NVSwitches, over a PCIe tree with hosts and NICs.
Island nvswitch_island(const NodeSpec& node, const Device& device, const Fabric& fabric);
/// Devices with direct NVLinks between some pairs, the rest over the PCIe tree.
Island nvlink_mesh(const NodeSpec& node, const Device& device, const Fabric& fabric);
/// Many small hosts whose devices share one NVSwitch domain; hosts do not reach each other.
Island nvlink_domain(const NodeSpec& node, const Device& device, const Fabric& fabric);
/// Devices, PCIe switches, sockets, NICs and nothing else.
Island pcie_box(const NodeSpec& node, const Device& device, const Fabric& fabric);
/// Processes on one computer that exchange data through its memory.
Island shared_memory(const NodeSpec& node, const Device& device, const Fabric& fabric);

/// Parts of one GPU (topologies/gpu_part.h), which exchange data through its memory.
Island gpu_parts(const NodeSpec& node, const Device& gpu);

/// Between a NIC and its slot: the slower of what both can do.
inline BytesPerSecond nic_bus(const NodeSpec& node, const Fabric& fabric) {
  return std::min(node.pcie_bandwidth, fabric.bus_bandwidth);
}

/// The island of node.family.
Island make_island(const NodeSpec& node, const Device& device, const Fabric& fabric);

/// Leaf, spine and core switches; with rails or without.
std::unique_ptr<const Cabling> fat_tree(const Fabric& fabric, std::int64_t nodes,
                                        std::int64_t nics);
/// Groups of routers, all joined to each other, and cables between all groups.
std::unique_ptr<const Cabling> dragonfly(const Fabric& fabric, std::int64_t nodes,
                                         std::int64_t nics);
/// A grid of switches in any number of dimensions, closed around its corners.
std::unique_ptr<const Cabling> torus(const Fabric& fabric, std::int64_t nodes, std::int64_t nics);

}  // namespace plait
