#include <algorithm>

#include "costmodel/collectives.h"
#include "costmodel/nccl_tuning.h"

namespace plait {
namespace {

constexpr Seconds us(double t) { return Seconds(t * 1e-6); }

// Within one island: the smaller of two straight lines, small messages by LL and large by Simple,
//   t = base + step (n - 1) + S (n-1)/n / rate,
// fitted to AIConfigurator's nccl_perf tables (2, 4, 8 GPUs, 256 B to 512 MB).
struct Line {
  double base_us, step_us;
  double link_share;  // achieved share of the data-sheet rate of the link
};
struct PairwiseFit {
  Line small, large;
};

PairwiseFit pairwise_fit(Generation generation) {
  switch (generation) {
    case Generation::kCpu:
    case Generation::kVolta:
    case Generation::kAmpere: return {{9.0, 0.9, 0.2}, {25, 0.9, 0.70}};
    case Generation::kHopper: return {{6.0, 0.8, 0.2}, {18, 0.8, 0.71}};
    case Generation::kBlackwell: return {{8.0, 0.8, 0.2}, {20, 0.8, 0.66}};
  }
  return {};
}

// A message to another island takes 18 us (Vidur's send/recv profile, H100 over InfiniBand).
constexpr double kNetworkStartUs = 18;

Cost line_cost(const Line& line, const NcclGroup& g, Bytes bytes, const GroupPlacement& group) {
  const double share = 1 / g.ranks;
  const Seconds inside = g.per_node > 1 ? bytes / (group.intra.bandwidth * line.link_share) *
                                              ((g.per_node - 1) * share)
                                        : Seconds();
  const Seconds outside =
      g.nodes > 1 ? bytes / BytesPerSecond(g.inter) * ((g.ranks - g.per_node) * share) : Seconds();
  const LinkClass start = g.per_node > 1 ? group.intra.link : group.inter.link;
  Cost cost;
  cost.share[latency_of(start)] += us(line.base_us + line.step_us * (g.ranks - 1));
  if (g.nodes > 1) cost.share[latency_of(group.inter.link)] += us(kNetworkStartUs);
  cost.share[bandwidth_of(outside > inside ? group.inter.link : group.intra.link)] +=
      std::max(inside, outside);
  const bool measured = g.nodes <= 1 && group.intra.link == LinkClass::kNvlink;
  cost.provenance = measured ? Provenance::kFitted : Provenance::kExtrapolated;
  cost.band = measured ? 0.15 : 0.35;
  return cost;
}

}  // namespace

CollectiveCost all_to_all_cost(Bytes bytes, const GroupPlacement& group, const Cluster& cluster) {
  const NcclGroup g = nccl_group(CollectiveKind::kAllToAll, group, cluster);
  const PairwiseFit fit = pairwise_fit(g.generation);
  const Cost small = line_cost(fit.small, g, bytes, group);
  const Cost large = line_cost(fit.large, g, bytes, group);
  if (small.total() < large.total()) return {small, Algorithm::kPairwise, Protocol::kLl};
  return {large, Algorithm::kPairwise, Protocol::kSimple};
}

}  // namespace plait
