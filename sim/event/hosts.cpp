#include "sim/event/hosts.h"

#include <cmath>

#include "core/error.h"
#include "topologies/graph.h"

namespace plait {
namespace {

// Of a full Ethernet frame as a shaper counts it (1500 bytes and a header of 14) TCP leaves 1448 to
// the payload: 20 bytes are IP's (RFC 791), 20 TCP's (RFC 9293) and 12 its timestamp option's (RFC
// 7323).
constexpr double kEthernetPayload = 1448.0 / 1514.0;
// Every second segment is acknowledged (RFC 9293, section 3.8.6.3) by a frame of header, IP, TCP
// and time stamp: 66 bytes.
constexpr double kEthernetAcknowledged = 66.0 / (2 * 1448.0) * kEthernetPayload;

SharedLink link_of(const Cluster& cluster) {
  const Fabric& fabric = cluster.graph->fabric;
  const auto ports = static_cast<double>(cluster.nics_per_node);
  const double payload = fabric.link == LinkClass::kEthernet ? kEthernetPayload : 1;
  SharedLink out;
  out.rate = fabric.bandwidth * (payload * ports);
  out.peak = std::max(out.rate, fabric.bus_bandwidth * (payload * ports));
  out.acknowledged = fabric.link == LinkClass::kEthernet ? kEthernetAcknowledged : 0;
  out.burst = Bytes(static_cast<std::int64_t>(
      std::floor(static_cast<double>(fabric.burst.value) * payload * ports)));
  return out;
}

const MessageFit& messages_over(const Calibration& calibration, const std::string& transport) {
  const auto found = calibration.transports.find(transport);
  if (found != calibration.transports.end()) return found->second;
  std::string known;
  for (const auto& [name, fit] : calibration.transports)
    known += (known.empty() ? "" : ", ") + name;
  throw InputError({.code = "S046",
                    .problem = "messages over " + transport + " were not measured",
                    .expected = known.empty() ? "a calibration of messages" : "one of " + known,
                    .cure = "measure them with `plait bench comm --transport " + transport +
                            " --ranks 2` and calibrate again" +
                            (known.empty() ? "" : ", or choose --transport with one of these")});
}

}  // namespace

HostSystem host_system(const Cluster& cluster, const Calibration& calibration,
                       const std::string& transport, std::int64_t ranks) {
  HostSystem out;
  out.hosts = out.machines = cluster.nodes;
  out.ranks_per_host = cluster.devices_per_node;
  out.cores = calibration.cores;
  if (ranks > 1) out.within = out.between = messages_over(calibration, transport);
  out.combine = calibration.combine;
  out.copy = calibration.copy;
  if (cluster.nodes > 1) {
    out.link = link_of(cluster);
    out.wire = route(cluster, 0, cluster.devices_per_node).latency;
  }
  return out;
}

}  // namespace plait
