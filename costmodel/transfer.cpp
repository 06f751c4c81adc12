#include "costmodel/transfer.h"

namespace plait {
namespace {

// Start-up of a send and its receive besides the link's own latency, and the achieved share of the
// link's data-sheet rate. Vidur's send/recv profiles: H100 NVLink 7.6 us and 361 of 450 GB/s; H100
// over 400 Gbit/s InfiniBand 18 us and 36 of 50 GB/s; A100 over a slower NIC 28 us. PCIe: NCCL
// counts 24 of 31.5 GB/s for a 4.0 x16 port.
struct MessageFit {
  double start_us, share, band;
  Provenance provenance;
};
MessageFit message_fit(LinkClass link) {
  switch (link) {
    case LinkClass::kNvlink: return {7, 0.80, 0.1, Provenance::kFitted};
    case LinkClass::kPcie: return {10, 0.76, 0.3, Provenance::kDatasheet};
    case LinkClass::kInfiniband: return {14, 0.72, 0.1, Provenance::kFitted};
    case LinkClass::kEthernet: return {24, 0.72, 0.3, Provenance::kDatasheet};
    case LinkClass::kC2c: return {7, 0.80, 0.3, Provenance::kDatasheet};
  }
  return {};
}

Cost link_cost(Bytes bytes, LinkClass link, Seconds start, BytesPerSecond rate) {
  Cost cost;
  cost.share[latency_of(link)] = start;
  cost.share[bandwidth_of(link)] = bytes / rate;
  return cost;
}

}  // namespace

Cost message_cost(Bytes bytes, const Path& path) {
  if (bytes.value == 0) return {};
  const MessageFit fit = message_fit(path.link);
  Cost cost = link_cost(bytes, path.link, Seconds(fit.start_us * 1e-6) + path.latency,
                        path.bandwidth * fit.share);
  cost.provenance = fit.provenance;
  cost.band = fit.band;
  return cost;
}

// cudaMemcpyAsync from pinned memory: about 10 us to start and 0.85 of a PCIe port's rate, 0.80 of
// a C2C link's.
Cost host_copy_cost(Bytes bytes, const Cluster& cluster) {
  if (bytes.value == 0) return {};
  const bool c2c =
      cluster.device.name.starts_with("gb200") || cluster.device.name.starts_with("gh200");
  const bool gen5 = cluster.device.compute_capability >= 90;
  // NVLink-C2C: 450 GB/s per direction (Grace superchip data sheets). PCIe x16: 63 and 31.5.
  const BytesPerSecond rate(c2c ? 450e9 * 0.80 : (gen5 ? 63e9 : 31.5e9) * 0.85);
  Cost cost = link_cost(bytes, c2c ? LinkClass::kC2c : LinkClass::kPcie, Seconds(10e-6), rate);
  cost.provenance = Provenance::kDatasheet;
  cost.band = 0.25;
  return cost;
}

}  // namespace plait
