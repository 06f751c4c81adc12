#pragma once
// What joins the islands, as parameters.

#include <cstdint>
#include <string>

#include "topologies/cluster.h"

namespace plait {

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

}  // namespace plait
