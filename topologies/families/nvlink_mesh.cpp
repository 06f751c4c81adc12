#include "topologies/families/families.h"

namespace plait {

Island nvlink_mesh(const NodeSpec& node, const Device& device, const Fabric& fabric) {
  Island island = pcie_box(node, device, fabric);
  for (const MeshLink& m : node.mesh) {
    add_link(island.links, island.devices.at(static_cast<std::size_t>(m.a)),
             island.devices.at(static_cast<std::size_t>(m.b)), LinkClass::kNvlink,
             device.nvlink_link_bandwidth * static_cast<double>(m.links), node.nvlink_latency);
  }
  return island;
}

}  // namespace plait
