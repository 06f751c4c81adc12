#include "serving/geforce_rate.h"

#include <algorithm>

namespace plait {
namespace {

bool has_chip_of_geforce(const Device& device) {
  constexpr int kCapabilities[] = {86, 89, 120, 121};
  return std::ranges::find(kCapabilities, device.compute_capability) != std::end(kCapabilities);
}

void slow_down(Device& device) {
  if (!has_chip_of_geforce(device)) return;
  const FlopsPerSecond most = device.vector_fp32 * 2;
  for (FlopsPerSecond* peak : {&device.peak_bf16, &device.peak_fp16}) {
    if (most.value < peak->value) *peak = most;
  }
}

}  // namespace

void multiply_as_geforce(Cluster& cluster) {
  slow_down(cluster.device);
  for (NodeKind& kind : cluster.others) slow_down(kind.device);
}

}  // namespace plait
