#pragma once
// Measured constants of collectives. Inside one NVLink island, by GPU, algorithm and protocol:
//   t = base + step st + W / rate (1 + small / n) + ramp r(S)
// with n ranks, st the steps of a ring (2(n-1) for all_reduce, n-1 otherwise), W the bytes that a
// member sends (2(n-1)/n S or (n-1)/n S in a ring, S to a switch that reduces) and r what it takes
// to reach the rate: sqrt(S / 1 MB) in a ring, log2(1 + S / 1 MB) through a switch.
// Which data, which rows: tests/costmodel/fit/collectives.h.

#include "costmodel/nccl_tuning.h"

namespace plait {

struct ProtocolFit {
  CollectiveKind kind;
  Generation generation;
  Algorithm algorithm;
  Protocol protocol;
  double base_us, step_us;
  double rate_gbps;  // at the NVLink rate of the measured GPU, see `fitted_link_rate`
  double small;      // rings of few members keep fewer bytes in flight
  double ramp_us;
};

/// nullptr where nothing was measured.
const ProtocolFit* protocol_fit(CollectiveKind kind, Generation generation, Algorithm algorithm,
                                Protocol protocol);

/// NVLink rate per GPU and direction of the GPU that was measured: 300, 450, 900 GB/s.
BytesPerSecond fitted_link_rate(Generation generation);

/// all_to_all inside an island, n-1 steps: the smaller of LL's time and Simple's. By LL each pair
/// has channels of its own, which its message keeps busy while the links are not: W = S/n. By
/// Simple the links are full: W = (n-1)/n S.
struct PairwiseFit {
  ProtocolFit small, large;
};
PairwiseFit pairwise_fit(Generation generation);

/// All-reduces between N islands of 8 GPUs with a 400 Gbit/s NIC each, whatever the algorithm:
///   t = base + hop log2 N + W / rate + ramp log2 N sqrt(S / 1 MB).
struct FabricFit {
  double base_us, hop_us, rate_gbps, ramp_us;
};
FabricFit fabric_fit();

/// What the constants multiply: st, W in bytes, r.
struct IslandWork {
  double steps, sent, ramp;
};
IslandWork island_work(const NcclGroup& group, Bytes bytes, Algorithm algorithm, Protocol protocol);

/// The formulas above on the links that were measured.
struct FittedTime {
  Seconds start, hops, transfer;
  Seconds total() const { return start + hops + transfer; }
};
FittedTime island_time(const ProtocolFit& fit, const NcclGroup& group, Bytes bytes);
FittedTime fabric_time(const FabricFit& fit, const NcclGroup& group, Bytes bytes);

}  // namespace plait
