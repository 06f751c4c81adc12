#include "costmodel/transfer.h"

#include "costmodel/links.h"

namespace plait {
namespace {

// Time of an empty message and the achieved share of the link's data-sheet rate. Vidur's send/recv
// profiles: H100 NVLink 7.6 us and 361 of 450 GB/s; H100 over 400 Gbit/s InfiniBand 18 us and 36 of
// 50 GB/s; over Ethernet, at its latency of 4 us, that start comes to 29 us, and an A100's over a
// slower NIC was 28 us. PCIe: NCCL counts 24 of 31.5 GB/s for a 4.0 x16 port.
struct LinkMessages {
  double start_us, share, band;
  Provenance provenance;
};
LinkMessages message_fit(LinkClass link) {
  switch (link) {
    case LinkClass::kNvlink: return {7.6, 0.80, 0.1, Provenance::kFitted};
    case LinkClass::kPcie: return {10, 0.76, 0.3, Provenance::kDatasheet};
    case LinkClass::kInfiniband: return {18, 0.72, 0.1, Provenance::kFitted};
    case LinkClass::kEthernet: return {18, 0.72, 0.3, Provenance::kDatasheet};
    case LinkClass::kC2c: return {7.6, 0.80, 0.3, Provenance::kDatasheet};
    case LinkClass::kDeviceMemory: return {kHandOverUs, 0.90, 0.5, Provenance::kDatasheet};
  }
  return {};
}

Cost link_cost(Bytes bytes, const Path& path, Seconds start, BytesPerSecond rate) {
  Cost cost;
  cost.share[latency_of(path.outermost())] = start;
  cost.share[bandwidth_of(path.link)] = bytes / rate;
  return cost;
}

}  // namespace

Seconds message_start(const Path& path) {
  return Seconds(message_fit(path.outermost()).start_us * 1e-6) * latency_ratio(path);
}

double message_share(LinkClass link) { return message_fit(link).share; }

Cost message_cost(Bytes bytes, const Path& path) {
  if (bytes.value == 0) return {};
  const LinkMessages fit = message_fit(path.outermost());
  Cost cost = link_cost(bytes, path, message_start(path), path.carried() * fit.share);
  cost.provenance = fit.provenance;
  cost.band = fit.band;
  return cost;
}

// cudaMemcpyAsync from pinned memory: about 10 us to start and 0.85 of a PCIe port's rate, 0.80 of
// a C2C link's (assumed until measured).
Cost host_copy_cost(Bytes bytes, const NodeKind& node) {
  if (bytes.value == 0) return {};
  const Path& host = node.host;
  const double share = host.link == LinkClass::kC2c ? 0.80 : 0.85;
  Cost cost = link_cost(bytes, host, Seconds(10e-6) * latency_ratio(host), host.bandwidth * share);
  cost.provenance = Provenance::kDatasheet;
  cost.band = 0.25;
  return cost;
}

// The band: files that are mapped and read page by page reach less than the
// data sheet says, files in the page cache more.
Cost storage_cost(Bytes bytes, BytesPerSecond bandwidth) {
  Cost cost;
  cost.share[kStorageBandwidth] = bytes / bandwidth;
  cost.provenance = Provenance::kDatasheet;
  cost.band = 0.5;
  return cost;
}

}  // namespace plait
