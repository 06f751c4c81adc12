#include <algorithm>
#include <cmath>

#include "costmodel/collectives.h"

namespace plait {
namespace {

// An MPI message between processes takes about a microsecond besides the link (Open MPI's shared
// memory transport); messages use most of the link. Assumptions: no measurement stands behind them.
constexpr Seconds kMessageStart = Seconds(1e-6);
constexpr double kLinkShare = 0.8;

// Recursive doubling (all_reduce), binomial tree (broadcast): the whole buffer in each round.
RoundTotals tree_rounds(double n) {
  const double rounds = std::ceil(std::log2(n));
  return {rounds, rounds};
}

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

CollectiveCost host_collective_cost(CollectiveKind kind, Bytes bytes, const GroupPlacement& group) {
  const Path& path = group.nodes > 1 ? group.inter : group.intra;
  const auto n = static_cast<double>(group.ranks);
  const Cost ring = rounds_cost(ring_rounds(kind, n), bytes, path);
  const bool pairwise = kind == CollectiveKind::kAllToAll;
  CollectiveCost best{ring, pairwise ? Algorithm::kPairwise : Algorithm::kRing, Protocol::kSimple};
  if (kind != CollectiveKind::kAllReduce && kind != CollectiveKind::kBroadcast) return best;
  const Cost tree = rounds_cost(tree_rounds(n), bytes, path);
  if (tree.total() < ring.total()) best = {tree, Algorithm::kTree, Protocol::kSimple};
  return best;
}

}  // namespace plait
