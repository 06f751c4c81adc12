// A message from part to part is read from the memory and written to it, so it has half of the
// memory's bandwidth at most, and takes it from all others.
#include "topologies/families/families.h"

namespace plait {

Island gpu_parts(const NodeSpec& node, const Device& gpu) {
  Island island;
  LinkGraph& g = island.links;
  const VertexId host = boost::add_vertex({VertexKind::kHost, 0, node.socket_latency}, g);
  const VertexId memory = boost::add_vertex({VertexKind::kMemory, 0, {}}, g);
  add_link(g, memory, host, gpu.host_link, gpu.host_bandwidth, node.pcie_latency);
  for (std::int64_t d = 0; d < node.devices; ++d) {
    island.devices.push_back(boost::add_vertex({VertexKind::kDevice, d, {}}, g));
    add_link(g, island.devices.back(), memory, LinkClass::kDeviceMemory, gpu.memory_bandwidth * 0.5,
             {});
    island.host_of.push_back(host);
  }
  island.shared_memory = gpu.memory_bandwidth;
  return island;
}

}  // namespace plait
