#pragma once
// What joins the islands, as parameters. A *pod* is the nodes under the same switches.

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/cluster.h"

namespace plait {

enum class Topology : std::uint8_t {
  kRailOptimised,  // a fat tree; in each pod NIC k of every node is on the leaf of rail k % rails
  kFatTree,        // all NICs of a node are on the same leaf: a pod has one
  kDragonfly,
  kTorus
};

/// Which of several shortest ways a message takes.
enum class Spreading : std::uint8_t {
  kEven,  // all at once (adaptive routing, packet spraying)
  kHash   // one of them, by a hash of the connection's ends and number (ECMP, RFC 2992)
};

struct Fabric {
  std::string name;
  LinkClass link = LinkClass::kInfiniband;
  BytesPerSecond bandwidth;      // of a NIC port and of a cable
  BytesPerSecond bus_bandwidth;  // of the NIC's PCIe interface
  Seconds nic_latency, switch_latency, cable_latency;
  Topology topology = Topology::kRailOptimised;
  std::int64_t rails = 1;
  std::int64_t nodes_per_pod = 1;
  std::int64_t nodes_per_switch = 0;  // pods without rails; 0: as many ports as a rail's leaf has
  /// Of a switch, as fast as a cable: 64 of NVIDIA's Quantum-2 QM9700 and Broadcom's Tomahawk 4.
  std::int64_t switch_ports = 64;
  double oversubscription = 1;  // leaf: bandwidth down to the nodes / bandwidth up to the spines
  std::int64_t levels = 2;      // of switches in a fat tree
  std::int64_t pods_per_block = 1;            // three levels: pods under the same spines
  double spine_oversubscription = 1;          // three levels: bandwidth down / up of a spine
  std::int64_t routers_per_group = 8;         // dragonfly
  std::int64_t global_cables = 8;             // dragonfly: of a router, to other groups
  std::vector<std::int64_t> dimensions = {};  // torus: switches along each, slowest first
  std::int64_t parallel_cables = 1;  // between neighbours of a torus or of a dragonfly's group
  Spreading spreading = Spreading::kEven;
  bool rail_forwarding = true;  // messages to another rail go there over NVLink first (NCCL's PXN)
  Bytes burst;  // what a port lets pass above its rate: the depth of its shaper's token bucket
};

}  // namespace plait
