#pragma once
// Measured constants of collectives inside one NVLink island, by GPU, algorithm and protocol:
//   t = base + step st + S f / (rate (1 - q / n)) + ramp sqrt(S / 1 MB)
// with st the steps of a ring (2(n-1) for all_reduce, n-1 otherwise), f = 2(n-1)/n or (n-1)/n the
// bytes on the wire per byte of the buffer S, and n ranks.

#include "costmodel/nccl_tuning.h"

namespace plait {

struct ProtocolFit {
  CollectiveKind kind;
  Generation generation;
  Algorithm algorithm;
  Protocol protocol;
  double base_us, step_us;
  double rate_gbps;  // at the NVLink rate of the measured GPU, see `fitted_link_rate`
  double q;
  double ramp_us;
};

/// nullptr where nothing was measured.
const ProtocolFit* protocol_fit(CollectiveKind kind, Generation generation, Algorithm algorithm,
                                Protocol protocol);

/// NVLink rate per GPU and direction of the GPU that was measured: 300, 450, 900 GB/s.
BytesPerSecond fitted_link_rate(Generation generation);

}  // namespace plait
