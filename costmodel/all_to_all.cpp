#include <algorithm>

#include "costmodel/collective_fits.h"
#include "costmodel/collectives.h"
#include "costmodel/links.h"
#include "costmodel/microseconds.h"
#include "costmodel/nccl_tuning.h"

namespace plait {
namespace {

constexpr double kLlShare = 0.5;  // LL sends four bytes of flag with four of data (NCCL's LL)

/// Of the part of all_to_all that stays in the group's own island: the group, its bytes.
struct Inside {
  NcclGroup group;
  Bytes bytes;
};
Inside inside_of(const NcclGroup& g, Bytes bytes) {
  Inside out{
      g, Bytes(static_cast<std::int64_t>(static_cast<double>(bytes.value) * g.per_node / g.ranks))};
  out.group.ranks = g.per_node;
  return out;
}

// By LL a message takes what the channels of its pair do, which wait for flags as often as it has
// pieces, and no less than the link that all pairs share.
Seconds pair_time(const ProtocolFit& line, const Inside& in, const Path& path) {
  if (line.protocol != Protocol::kLl || in.group.ranks <= 1) return {};
  return island_time(line, in.group, in.bytes).transfer * latency_ratio(path);
}

// Sent to the n-1 others of an island. NVLinks are as much of the fitted rate as of the measured
// GPU's; over PCIe the link's own rate is taken, of which flags leave LL half.
Seconds link_time(const ProtocolFit& line, const Inside& in, const Path& path) {
  const NcclGroup& g = in.group;
  if (g.ranks <= 1) return {};
  const bool nvlink = path.link == LinkClass::kNvlink, ll = line.protocol == Protocol::kLl;
  if (nvlink && !ll) {
    const Seconds measured = island_time(line, g, in.bytes).transfer;
    return measured * (fitted_link_rate(g.generation) / path.bandwidth);
  }
  const double rate = g.intra_exchange * (nvlink || !ll ? 1 : kLlShare);
  return in.bytes / BytesPerSecond(rate) * ((g.ranks - 1) / g.ranks);
}

// A message to another island takes 18 us (Vidur's send/recv profile, H100 over InfiniBand); the
// messages to all of them share the member's part of the network.
constexpr double kNetworkStartUs = 18;

Cost line_cost(const ProtocolFit& line, const NcclGroup& g, Bytes bytes,
               const GroupPlacement& group, const Device& device) {
  const Inside part = inside_of(g, bytes);
  const Seconds pairs = pair_time(line, part, group.intra),
                inside = link_time(line, part, group.intra_exchange);
  const Seconds outside =
      g.nodes > 1 ? bytes / BytesPerSecond(g.exchange) * ((g.ranks - g.fewest) / g.ranks)
                  : Seconds();
  Cost cost;
  cost.share[kLaunchOverhead] = us(line.base_us) * launch_ratio(device);
  if (g.per_node > 1)
    cost.share[latency_of(group.intra.link)] +=
        us(line.step_us * (g.per_node - 1)) * latency_ratio(group.intra);
  if (g.nodes > 1)
    cost.share[latency_of(group.inter.outermost())] +=
        us(kNetworkStartUs + line.step_us * (g.ranks - g.fewest)) * latency_ratio(group.inter);
  const Seconds links = std::max(inside, outside);
  if (pairs > links)
    cost.share[latency_of(group.intra.link)] += pairs;
  else
    cost.share[bandwidth_of(outside > inside ? group.exchange.link : group.intra_exchange.link)] +=
        links;
  const bool measured = g.nodes <= 1 && g.ranks <= 8 && group.intra.link == LinkClass::kNvlink &&
                        g.generation != Generation::kCdna;
  cost.provenance = measured ? Provenance::kFitted : Provenance::kExtrapolated;
  cost.band = measured ? 0.1 : 0.35;
  return cost;
}

}  // namespace

CollectiveCost all_to_all_cost(Bytes bytes, const GroupPlacement& group, const NodeKind& node) {
  const NcclGroup g = nccl_group(CollectiveKind::kAllToAll, group, node);
  const PairwiseFit fit = pairwise_fit(g.generation);
  const Cost small = line_cost(fit.small, g, bytes, group, node.device);
  const Cost large = line_cost(fit.large, g, bytes, group, node.device);
  if (small.total() < large.total()) return {small, Algorithm::kPairwise, Protocol::kLl};
  return {large, Algorithm::kPairwise, Protocol::kSimple};
}

}  // namespace plait
