#include "topologies/families/families.h"

namespace plait {

Island shared_memory(const NodeSpec& node, const Device& device, const Fabric& fabric) {
  Island island;
  LinkGraph& g = island.links;
  const VertexId memory = boost::add_vertex({VertexKind::kHost, 0, node.socket_latency}, g);
  for (std::int64_t d = 0; d < node.devices; ++d) {
    island.devices.push_back(boost::add_vertex({VertexKind::kDevice, d, {}}, g));
    add_link(g, island.devices.back(), memory, device.host_link, device.host_bandwidth,
             node.pcie_latency);
    island.host_of.push_back(memory);
    if (node.nics > 0)
      island.nic_of.push_back(static_cast<std::size_t>(d * node.nics / node.devices));
  }
  for (std::int64_t j = 0; j < node.nics; ++j) {
    island.nics.push_back(boost::add_vertex({VertexKind::kNic, j, fabric.nic_latency}, g));
    add_link(g, island.nics.back(), memory, LinkClass::kPcie, nic_bus(node, fabric),
             node.pcie_latency);
  }
  return island;
}

}  // namespace plait
