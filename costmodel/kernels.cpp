#include "costmodel/kernels.h"

#include <algorithm>

namespace plait {

Cost roofline(Seconds fixed, Seconds compute, Seconds memory, const Quality& quality) {
  Cost cost;
  cost.provenance = quality.provenance;
  cost.band = quality.band;
  cost.share[kLaunchOverhead] = fixed;
  cost.share[compute >= memory ? kPeakFlops : kMemoryBandwidth] = std::max(compute, memory);
  return cost;
}

Cost cost_of(const KernelTime& time, const Quality& quality, const Device& device) {
  Cost cost;
  cost.provenance = quality.provenance;
  cost.band = quality.band;
  cost.share[kLaunchOverhead] = fixed_time(device, time.fixed);
  cost.share[kPeakFlops] = time.compute;
  cost.share[kMemoryBandwidth] = time.memory;
  return cost;
}

Cost stream_cost(Bytes bytes, int kernels, StreamKind kind, const Device& device) {
  const StreamFit fit = stream_fit(device, kind);
  const Seconds memory = bytes / (device.memory_bandwidth * fit.bandwidth);
  Cost cost = cost_of({fit.fixed, Seconds(), memory}, fit.quality, device);
  cost.share[kLaunchOverhead] = cost.share[kLaunchOverhead] * kernels;
  return cost;
}

}  // namespace plait
