// A rack: trays of devices and sockets, each device on the C2C or PCIe link of its socket, each NIC
// on the PCIe root port of one; one plane of NVSwitches joins all devices of the rack.
//
// Given n devices, s sockets and k NICs, in blocks: device d is on socket d s / n, NIC j on socket
// j s / k. With k < s sockets share a NIC, which has a root port of each (NVIDIA's Socket Direct):
// socket i is on NIC i k / s.
#include "topologies/families/families.h"

namespace plait {
namespace {

/// Of those of `items` in blocks that block i has: the first, and the one behind the last.
struct Range {
  std::size_t first = 0, last = 0;
};
Range in_block(std::size_t i, std::size_t items, std::size_t blocks) {
  const auto first = [&](std::size_t block) { return (block * items + blocks - 1) / blocks; };
  return {first(i), first(i + 1)};
}

Range nics_of_socket(std::size_t i, std::size_t sockets, std::size_t nics) {
  const std::size_t shared = i * nics / sockets;
  return nics < sockets ? Range{shared, shared + 1} : in_block(i, nics, sockets);
}

/// NICs on the sockets; the devices of a socket are dealt out to its NICs.
void add_nics(Island& island, const std::vector<VertexId>& sockets, const NodeSpec& node,
              const Fabric& fabric) {
  LinkGraph& g = island.links;
  for (std::int64_t j = 0; j < node.nics; ++j)
    island.nics.push_back(boost::add_vertex({VertexKind::kNic, j, fabric.nic_latency}, g));
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    const Range nics = nics_of_socket(i, sockets.size(), island.nics.size());
    for (std::size_t j = nics.first; j < nics.last; ++j) {
      add_link(g, island.nics[j], sockets[i], LinkClass::kPcie, nic_bus(node, fabric),
               node.pcie_latency);
    }
    const Range devices = in_block(i, island.devices.size(), sockets.size());
    const std::size_t count = devices.last - devices.first;
    for (std::size_t k = 0; k < count; ++k)
      island.nic_of.push_back(nics.first + k * (nics.last - nics.first) / count);
  }
}

}  // namespace

Island nvlink_domain(const NodeSpec& node, const Device& device, const Fabric& fabric) {
  Island island;
  LinkGraph& g = island.links;
  const auto n = static_cast<std::size_t>(node.devices);
  const auto sockets = static_cast<std::size_t>(node.sockets);
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
  }
  if (node.nics > 0) add_nics(island, hosts, node, fabric);
  return island;
}

}  // namespace plait
