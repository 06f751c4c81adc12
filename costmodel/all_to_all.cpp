#include <algorithm>
#include <cmath>

#include "costmodel/collective_fits.h"
#include "costmodel/collectives.h"
#include "costmodel/links.h"
#include "costmodel/nccl_tuning.h"

namespace plait {
namespace {

constexpr Seconds us(double t) { return Seconds(t * 1e-6); }

// Within one island: the smaller of two lines, small messages by LL and large by Simple,
//   t = base + step (n - 1) + S (n-1)/n / (rate (1 - q / n)) + ramp sqrt(S / 1 MB),
// fitted to AIConfigurator's nccl_perf tables (2, 4, 8 GPUs, 512 B to 512 MB): median error 4 %.
struct Line {
  double base_us, step_us, rate_gbps, q, ramp_us;
};
struct PairwiseFit {
  Line small, large;
};

PairwiseFit pairwise_fit(Generation generation) {
  switch (generation) {
    case Generation::kCpu:
    case Generation::kVolta:
    case Generation::kAmpere: return {{11.81, 0.288, 65.9, 0, 0}, {20.55, 1.952, 220.2, 0.5, 2}};
    case Generation::kHopper: return {{6.46, 0.118, 12.2, 0, 0}, {10.79, 0, 325, 0.2, 2}};
    case Generation::kBlackwell: return {{9.66, 0.151, 23.4, 0, 0}, {13.45, 0.251, 636.8, 0.8, 2}};
  }
  return {};
}

Seconds inside_time(const Line& line, const NcclGroup& g, Bytes bytes, const Path& path) {
  if (g.per_node <= 1) return {};
  const double link = path.link == LinkClass::kNvlink
                          ? path.bandwidth / fitted_link_rate(g.generation)
                          : g.intra / (line.rate_gbps * 1e9);
  const BytesPerSecond rate(line.rate_gbps * 1e9 * (1 - line.q / g.per_node) * link);
  const double megabytes = static_cast<double>(bytes.value) / 1e6;
  return bytes / rate * ((g.per_node - 1) / g.ranks) +
         us(line.ramp_us * std::sqrt(megabytes)) / link;
}

// A message to another island takes 18 us (Vidur's send/recv profile, H100 over InfiniBand); the
// messages to all of them share the member's part of the network.
constexpr double kNetworkStartUs = 18;

Cost line_cost(const Line& line, const NcclGroup& g, Bytes bytes, const GroupPlacement& group,
               const Device& device) {
  const Seconds inside = inside_time(line, g, bytes, group.intra);
  const Seconds outside = g.nodes > 1
                              ? bytes / BytesPerSecond(g.inter) * ((g.ranks - g.per_node) / g.ranks)
                              : Seconds();
  Cost cost;
  cost.share[kLaunchOverhead] = us(line.base_us) * launch_ratio(device);
  if (g.per_node > 1)
    cost.share[latency_of(group.intra.link)] +=
        us(line.step_us * (g.per_node - 1)) * latency_ratio(group.intra);
  if (g.nodes > 1)
    cost.share[latency_of(group.inter.link)] +=
        us(kNetworkStartUs + line.step_us * (g.ranks - g.per_node)) * latency_ratio(group.inter);
  cost.share[bandwidth_of(outside > inside ? group.inter.link : group.intra.link)] +=
      std::max(inside, outside);
  const bool measured = g.nodes <= 1 && g.ranks <= 8 && group.intra.link == LinkClass::kNvlink;
  cost.provenance = measured ? Provenance::kFitted : Provenance::kExtrapolated;
  cost.band = measured ? 0.1 : 0.35;
  return cost;
}

}  // namespace

CollectiveCost all_to_all_cost(Bytes bytes, const GroupPlacement& group, const Cluster& cluster) {
  const NcclGroup g = nccl_group(CollectiveKind::kAllToAll, group, cluster);
  const PairwiseFit fit = pairwise_fit(g.generation);
  const Cost small = line_cost(fit.small, g, bytes, group, cluster.device);
  const Cost large = line_cost(fit.large, g, bytes, group, cluster.device);
  if (small.total() < large.total()) return {small, Algorithm::kPairwise, Protocol::kLl};
  return {large, Algorithm::kPairwise, Protocol::kSimple};
}

}  // namespace plait
