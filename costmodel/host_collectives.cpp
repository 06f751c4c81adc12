#include <algorithm>
#include <cmath>

#include "costmodel/collectives.h"
#include "plan/collectives/rounds.h"

namespace plait {
namespace {

// An MPI message between processes takes about a microsecond besides the link (Open MPI's shared
// memory transport); messages use most of the link. Assumptions: no measurement stands behind them.
constexpr Seconds kMessageStart = Seconds(1e-6);
constexpr double kLinkShare = 0.8;

Cost rounds_cost(const RoundTotals& rounds, Bytes bytes, const Path& path) {
  Cost cost;
  cost.share[latency_of(path.link)] = (kMessageStart + path.latency) * rounds.count;
  cost.share[bandwidth_of(path.link)] = bytes / (path.bandwidth * kLinkShare) * rounds.wire;
  cost.provenance = Provenance::kDatasheet;
  cost.band = 0.5;
  return cost;
}

}  // namespace

RoundTotals ring_rounds(CollectiveKind kind, double n) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return {2 * (n - 1), 2 * (n - 1) / n};
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll: return {n - 1, (n - 1) / n};
    case CollectiveKind::kBroadcast: return {n - 1, 1};
    case CollectiveKind::kShift: return {1, 1};
    case CollectiveKind::kPush:
    case CollectiveKind::kPull: break;  // push_pull.cpp
  }
  return {};
}

// The patterns of `pattern_of`, which a real run executes; their rounds as `rounds_of` writes them
// out, without writing them out.
CollectiveCost host_collective_cost(CollectiveKind kind, Bytes bytes, const GroupPlacement& group) {
  const Path& path = group.nodes > 1 ? group.inter : group.intra;
  const auto n = static_cast<double>(group.ranks);
  const auto as = [&](Algorithm algorithm, const RoundTotals& rounds) {
    return CollectiveCost{rounds_cost(rounds, bytes, path), algorithm, Protocol::kSimple};
  };
  switch (pattern_of(kind, group.ranks, bytes)) {
    case Pattern::kRecursiveDoubling: {
      const auto whole = static_cast<double>(doubling_rounds(group.ranks));
      return as(Algorithm::kRecursiveDoubling, {whole, whole});
    }
    case Pattern::kBinomial: {
      const double whole = std::ceil(std::log2(n));
      return as(Algorithm::kBinomial, {whole, whole});
    }
    case Pattern::kDirect: return as(Algorithm::kDirect, ring_rounds(kind, n));
    default: return as(Algorithm::kRing, ring_rounds(kind, n));
  }
}

}  // namespace plait
