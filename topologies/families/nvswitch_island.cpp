// The NVSwitch chips of a node act as one: each device spreads its links evenly over all of them,
// so one vertex with the full NVLink bandwidth of each device is the same graph.
#include "topologies/families/families.h"

namespace plait {

Island nvswitch_island(const NodeSpec& node, const Device& device, const Fabric& fabric) {
  Island island = pcie_box(node, device, fabric);
  const VertexId plane =
      boost::add_vertex({VertexKind::kNvSwitch, 0, node.nvswitch_latency}, island.links);
  for (const VertexId d : island.devices) {
    add_link(island.links, d, plane, LinkClass::kNvlink, device.nvlink_bandwidth(),
             node.nvlink_latency);
  }
  return island;
}

}  // namespace plait
