#include "serving/geforce_rate.h"

namespace plait {
namespace {

bool has_chip_of_geforce(const Device& device) {
  return device.compute_capability == 86 || device.compute_capability == 89;
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
