#include "costmodel/checkpoint_cost.h"

#include <algorithm>

namespace plait {

CheckpointCost checkpoint_cost(Bytes bytes, const Cluster& cluster, const Checkpointing& how) {
  const bool said = how.bandwidth.value > 0;
  const Seconds store =
      bytes / (said ? how.bandwidth : static_cast<double>(cluster.hosts()) * kStoreBandwidthOfHost);
  const Bytes share(ceil_div(bytes.value, cluster.world_size()));
  Seconds copy;
  for (std::size_t k = 0; k < cluster.kinds(); ++k) {
    const BytesPerSecond link = cluster.kind(k).device.host_bandwidth;
    if (link.value > 0) copy = std::max(copy, share / link);
  }
  if (how.asynchronous) return {.stall = copy, .write = store, .read = store};
  return {.stall = std::max(copy, store), .write = {}, .read = store};
}

}  // namespace plait
