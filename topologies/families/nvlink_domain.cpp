// A rack: trays of devices and sockets, each device on the C2C or PCIe link of its socket, each NIC
// on the PCIe root port of one; one plane of NVSwitches joins all devices of the rack.
#include "topologies/families/families.h"

namespace plait {

Island nvlink_domain(const NodeSpec& node, const Device& device, const Fabric& fabric) {
  Island island;
  LinkGraph& g = island.links;
  const auto n = static_cast<std::size_t>(node.devices);
  const auto sockets = static_cast<std::size_t>(node.sockets);
  const auto nics = static_cast<std::size_t>(node.nics);
  for (std::size_t d = 0; d < n; ++d) {
    island.devices.push_back(
        boost::add_vertex({VertexKind::kDevice, static_cast<std::int64_t>(d), {}}, g));
  }
  const VertexId plane = boost::add_vertex({VertexKind::kNvSwitch, 0, node.nvswitch_latency}, g);
  std::vector<VertexId> hosts;
  for (std::size_t i = 0; i < sockets; ++i) {
    hosts.push_back(boost::add_vertex(
        {VertexKind::kHost, static_cast<std::int64_t>(i), node.socket_latency}, g));
  }
  for (std::size_t d = 0; d < n; ++d) {
    const VertexId host = hosts[d * sockets / n];
    add_link(g, island.devices[d], plane, LinkClass::kNvlink, device.nvlink_bandwidth(),
             node.nvlink_latency);
    add_link(g, island.devices[d], host, device.host_link, device.host_bandwidth,
             node.pcie_latency);
    island.host_of.push_back(host);
    if (nics > 0) island.nic_of.push_back(d * std::min(n, nics) / n);
  }
  for (std::size_t j = 0; j < nics; ++j) {
    island.nics.push_back(
        boost::add_vertex({VertexKind::kNic, static_cast<std::int64_t>(j), fabric.nic_latency}, g));
    add_link(g, island.nics[j], hosts[j * sockets / nics], LinkClass::kPcie, nic_bus(node, fabric),
             node.pcie_latency);
  }
  return island;
}

}  // namespace plait
