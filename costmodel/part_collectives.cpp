#include <algorithm>

#include "costmodel/collectives.h"
#include "costmodel/efficiency.h"
#include "costmodel/transfer.h"

namespace plait {
namespace {

/// All members are ready; of an all_reduce: all have added up their shares.
double stages(CollectiveKind kind) { return kind == CollectiveKind::kAllReduce ? 2 : 1; }

}  // namespace

// What is received is read and written once. A sum is taken to stay in the second-level cache until
// all have been added. No measurement stands behind the times.
CollectiveCost part_collective_cost(CollectiveKind kind, Bytes bytes, const GroupPlacement& group,
                                    const Device& part) {
  const StreamFit copy = stream_fit(part, StreamKind::kCopy);
  const RoundTotals rounds = ring_rounds(kind, static_cast<double>(group.ranks));
  const BytesPerSecond own = part.memory_bandwidth * 0.5;  // read and written
  const BytesPerSecond of_all = group.intra.bandwidth / static_cast<double>(group.ranks);
  Cost cost;
  cost.share[kLaunchOverhead] = fixed_time(part, copy.fixed) * rounds.count;
  cost.share[latency_of(LinkClass::kDeviceMemory)] = Seconds(kHandOverUs * 1e-6) * stages(kind);
  cost.share[bandwidth_of(LinkClass::kDeviceMemory)] =
      bytes / (std::min(own, of_all) * copy.bandwidth) * rounds.wire;
  cost.provenance = Provenance::kDatasheet;
  cost.band = 0.5;
  return {cost, Algorithm::kDirect, Protocol::kSimple};
}

}  // namespace plait
