#pragma once
// The machine as ranks on processors see it: hosts with cores that threads share, links that
// messages share, and what a message costs the threads at its ends.

#include <string>

#include "costmodel/calibration.h"
#include "sim/event/links.h"
#include "topologies/cluster.h"

namespace plait {

struct HostSystem {
  std::int64_t hosts = 1;
  std::int64_t ranks_per_host = 1;
  /// Machines that the hosts are on, equally many on each: fewer than hosts where these are network
  /// namespaces of one machine, whose cores they share.
  std::int64_t machines = 1;
  double cores = 1;    // of one machine
  SharedLink link;     // each host's way out, and its way in; in bytes of payload
  Seconds wire;        // latency between two hosts, besides that of the messages
  MessageFit within;   // between ranks of one host
  MessageFit between;  // between ranks of different hosts
  Piecewise combine;   // adding what has been received
  Piecewise copy;      // memory to memory
  /// Compute ops take their time without a core: a real run sleeps instead of computing. Compute
  /// outside of the compute stream then takes no time.
  bool timed_compute = false;
};

/// A host is a node of the cluster, on a machine of its own with the cores that were measured; its
/// link is the fabric's. Throws InputError S046 where messages of several `ranks` go over a
/// transport that was not measured.
HostSystem host_system(const Cluster& cluster, const Calibration& calibration,
                       const std::string& transport, std::int64_t ranks);

}  // namespace plait
