// Given n devices, s sockets, w PCIe switches and k NICs: device d, NIC j and switch i are spread
// over the switches and sockets in blocks, as boards are wired: device d is on switch d * w / n,
// which is on socket (d * w / n) * s / w. Sockets form a chain with neighbours linked.
#include "core/error.h"
#include "topologies/families/families.h"

namespace plait {
namespace {

std::size_t block(std::size_t item, std::size_t items, std::size_t blocks) {
  return item * blocks / items;
}

/// Of `items` dealt in blocks: the first that falls into a block, or into a later one.
std::size_t first_in(std::size_t at, std::size_t items, std::size_t blocks) {
  return (at * items + blocks - 1) / blocks;
}

/// The NIC of a device. Where there are enough, one on the same port: dealt in blocks among the
/// devices there, and otherwise among all.
std::size_t nic_for(std::size_t device, std::size_t devices, std::size_t nics, std::size_t ports) {
  const std::size_t port = block(device, devices, ports);
  const std::size_t nic = first_in(port, nics, ports);
  const std::size_t on_port = first_in(port + 1, nics, ports) - nic;
  if (nics < devices || on_port == 0) return block(device, devices, nics);
  const std::size_t first = first_in(port, devices, ports);
  return nic + block(device - first, first_in(port + 1, devices, ports) - first, on_port);
}

/// Of a device: the slower of what it and its slot can do.
BytesPerSecond slot_of(const NodeSpec& node, const Device& device) {
  return std::min(node.pcie_bandwidth, device.pcie_bandwidth);
}

/// What is between sockets is told by what traffic achieves there, as NCCL counts it; links have a
/// rate, of which traffic gets a share.
std::vector<VertexId> add_sockets(LinkGraph& g, const NodeSpec& node) {
  std::vector<VertexId> sockets;
  for (std::int64_t i = 0; i < node.sockets; ++i) {
    sockets.push_back(boost::add_vertex({VertexKind::kHost, i, node.socket_latency}, g));
    if (i > 0) {
      add_link(g, sockets[sockets.size() - 2], sockets.back(), LinkClass::kPcie,
               node.socket_bandwidth / kPcieShare, node.socket_link_latency);
    }
  }
  return sockets;
}

/// Where devices and NICs hang: on a socket or PCIe switch, which is two vertices where nothing
/// that comes from below may go straight back.
struct Port {
  VertexId up = 0, down = 0;
};

void hang(LinkGraph& g, VertexId v, const Port& port, LinkClass link, BytesPerSecond bandwidth,
          Seconds wire) {
  add_one_way(g, v, port.up, link, bandwidth, wire);
  add_one_way(g, port.down, v, link, bandwidth, wire);
}

std::vector<Port> add_pcie_switches(LinkGraph& g, const NodeSpec& node,
                                    const std::vector<VertexId>& sockets, bool turns) {
  const auto count = static_cast<std::size_t>(node.pcie_switches);
  std::vector<Port> switches;
  for (std::size_t i = 0; i < count; ++i) {
    Vertex v{VertexKind::kPcieSwitch, static_cast<std::int64_t>(i), node.pcie_switch_latency};
    Port port;
    port.up = port.down = boost::add_vertex(v, g);
    v.way_down = true;
    if (!turns) port.down = boost::add_vertex(v, g);
    const VertexId socket = sockets[block(i, count, sockets.size())];
    add_one_way(g, port.up, socket, LinkClass::kPcie, node.pcie_bandwidth, node.pcie_latency);
    add_one_way(g, socket, port.down, LinkClass::kPcie, node.pcie_bandwidth, node.pcie_latency);
    switches.push_back(port);
  }
  return switches;
}

}  // namespace

Island pcie_box(const NodeSpec& node, const Device& device, const Fabric& fabric) {
  Island island;
  LinkGraph& g = island.links;
  const auto n = static_cast<std::size_t>(node.devices);
  const auto nics = static_cast<std::size_t>(node.nics);
  for (std::size_t d = 0; d < n; ++d) {
    island.devices.push_back(
        boost::add_vertex({VertexKind::kDevice, static_cast<std::int64_t>(d), {}}, g));
  }
  const std::vector<VertexId> sockets = add_sockets(g, node);
  // Without peer access data turn around in host memory, as they do between root ports.
  std::vector<Port> ports = add_pcie_switches(g, node, sockets, device.peer_access);
  island.through_host = !ports.empty() && !device.peer_access;
  // Without switches a device that shares its module with a processor hangs on that.
  const bool on_module = ports.empty() && device.host_link == LinkClass::kC2c;
  if (ports.empty()) {
    for (const VertexId s : sockets) ports.push_back({s, s});
  }
  for (std::size_t d = 0; d < n; ++d) {
    hang(g, island.devices[d], ports[block(d, n, ports.size())],
         on_module ? LinkClass::kC2c : LinkClass::kPcie,
         on_module ? device.host_bandwidth : slot_of(node, device), node.pcie_latency);
    island.host_of.push_back(sockets[block(d, n, sockets.size())]);
    if (nics > 0) island.nic_of.push_back(nic_for(d, n, nics, ports.size()));
  }
  for (std::size_t j = 0; j < nics; ++j) {
    island.nics.push_back(
        boost::add_vertex({VertexKind::kNic, static_cast<std::int64_t>(j), fabric.nic_latency}, g));
    hang(g, island.nics[j], ports[block(j, nics, ports.size())], LinkClass::kPcie,
         nic_bus(node, fabric), node.pcie_latency);
  }
  return island;
}

}  // namespace plait
