#pragma once
// What a measured collective says of its links: base latency a and peak bus bandwidth B with
//
//   t(S) = a + f S / B,   f = busbw / algbw,
//
// that minimise sum_i log(t(S_i) / t_i)^2.

#include "core/quantity.h"
#include "topologies/importers/nccl_tests.h"

namespace plait {

struct LatencyBandwidth {
  Seconds latency;
  BytesPerSecond busbw;                      // 0: no row is large enough to tell
  double median_error = 0, worst_error = 0;  // |log(fitted / measured)|
};

LatencyBandwidth fit_latency_bandwidth(const CollectiveTimings& run);

}  // namespace plait
