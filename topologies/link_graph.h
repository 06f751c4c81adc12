#pragma once
// Vertices and links, as a Boost graph: devices, NVSwitches, PCIe switches, NICs, hosts, switches
// of the fabric. An island (a node, or an NVLink domain) is such a graph.

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <string_view>
#include <vector>

#include "topologies/cluster.h"

namespace plait {

enum class VertexKind : std::uint8_t {
  kDevice,
  kNvSwitch,
  kPcieSwitch,
  kHost,  // a CPU socket with its memory
  kNic,
  kMemory,  // of a GPU whose parts are devices
  kLeaf,
  kSpine,
  kCore,
  kRouter
};
std::string_view name_of(VertexKind kind);
/// Not inside of a node.
constexpr bool is_fabric_switch(VertexKind kind) { return kind >= VertexKind::kLeaf; }

struct Vertex {
  VertexKind kind = VertexKind::kDevice;
  std::int64_t index = 0;  // among its kind, in its island or fabric
  Seconds latency = {};    // to pass through it
  /// The way down through a switch whose way up is a vertex of its own: what comes from below goes
  /// on to the host, and never straight back.
  bool way_down = false;
};

/// One direction of a link.
struct Link {
  LinkClass link = LinkClass::kNvlink;
  BytesPerSecond bandwidth;
  Seconds latency;           // of the wire, plus half of the time through the vertices at its ends
  std::uint32_t number = 0;  // in its island
};

using LinkGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Vertex, Link>;
using VertexId = LinkGraph::vertex_descriptor;

/// Adds both directions. `wire` is the latency between the two ends; half of each end's own is
/// added, so that the latencies along a route add up to all wires and all vertices passed.
void add_link(LinkGraph& graph, VertexId a, VertexId b, LinkClass link, BytesPerSecond bandwidth,
              Seconds wire);
/// One direction of it.
void add_one_way(LinkGraph& graph, VertexId from, VertexId to, LinkClass link,
                 BytesPerSecond bandwidth, Seconds wire);

struct Island {
  LinkGraph links;
  std::vector<VertexId> devices;
  std::vector<VertexId> nics;
  std::vector<VertexId> host_of;      // per device, the socket whose memory is nearest
  std::vector<std::size_t> nic_of;    // per device, the NIC that serves it; empty without NICs
  BytesPerSecond shared_memory = {};  // of all devices together; 0: each has memory of its own
  /// What its devices send, to each other and to NICs, crosses the uplinks of PCIe switches, which
  /// they share, to turn around in host memory.
  bool through_host = false;
};

}  // namespace plait
