#pragma once
// The machine as a graph: devices, NVSwitches, PCIe switches, NICs, hosts, leaf and spine switches,
// and the links between them. One island (a node) is kept once; the fabric that joins the islands
// is described by its parameters. All islands are alike and all pods (islands under the same leaf
// switches) are alike, so the shortest path between two devices depends only on their places in
// their islands and on whether they share the island, the pod or neither: three tables, each worked
// out once on the graph, answer every query exactly.

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
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
  kLeaf,
  kSpine
};
std::string_view name_of(VertexKind kind);

struct Vertex {
  VertexKind kind = VertexKind::kDevice;
  std::int64_t index = 0;  // among its kind, in its island or fabric
  Seconds latency = {};    // to pass through it
};

/// One direction of a link.
struct Link {
  LinkClass link = LinkClass::kNvlink;
  BytesPerSecond bandwidth;
  Seconds latency;  // of the wire, plus half of the time through the vertices at its ends
};

using LinkGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Vertex, Link>;
using VertexId = LinkGraph::vertex_descriptor;

/// Adds both directions. `wire` is the latency between the two ends; half of each end's own is
/// added, so that the latencies along a route add up to all wires and all vertices passed.
void add_link(LinkGraph& graph, VertexId a, VertexId b, LinkClass link, BytesPerSecond bandwidth,
              Seconds wire);

/// The route from `origin` to every vertex: over NVLink where that leads there, else of least
/// latency; among equals the widest, then the one of fewest hops. Devices begin and end routes and
/// never forward. Unreachable: hops = -1.
std::vector<Path> routes_from(const LinkGraph& graph, VertexId origin);

struct Island {
  LinkGraph links;
  std::vector<VertexId> devices;
  std::vector<VertexId> nics;
  std::vector<VertexId> host_of;    // per device, the socket whose memory is nearest
  std::vector<std::size_t> nic_of;  // per device, the NIC that serves it; empty without NICs
};

/// Rail-optimised two-level fabric: in each pod, NIC k of every node is cabled to the leaf switch
/// of rail k % rails; every leaf is cabled to every spine.
struct Fabric {
  std::string name;
  LinkClass link = LinkClass::kInfiniband;
  BytesPerSecond bandwidth;      // of a NIC port and of its cable
  BytesPerSecond bus_bandwidth;  // of the NIC's PCIe interface
  Seconds nic_latency, switch_latency, cable_latency;
  std::int64_t rails = 1;
  std::int64_t nodes_per_pod = 1;
  double oversubscription = 1;  // leaf: bandwidth down to the nodes / bandwidth up to the spines
  Bytes burst;  // what a port lets pass above its rate: the depth of its shaper's token bucket
};

struct Graph {
  Island island;
  Fabric fabric;
  std::int64_t nodes = 1;
  // (n, n), row = origin, n = devices of the island
  std::vector<Path> same_node = {}, same_pod = {}, across_pods = {};
  std::vector<std::int64_t> devices_per_nic = {};  // per device: how many its NIC serves

  std::size_t size() const { return island.devices.size(); }
};

struct NodeSpec;  // topologies/families/families.h

/// Makes the island and works out the tables. The island must connect all of its devices, and have
/// NICs if nodes > 1.
std::shared_ptr<const Graph> make_graph(const NodeSpec& node, const Device& device,
                                        const Fabric& fabric, std::int64_t nodes);

/// Islands joined by the fabric, every vertex written out. Device d of node k is devices[k * n +
/// d].
struct Machine {
  LinkGraph links;
  std::vector<VertexId> devices;
};
Machine expand(const Graph& graph);

}  // namespace plait
