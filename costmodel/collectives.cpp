#include "costmodel/collectives.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "costmodel/collective_fits.h"
#include "costmodel/links.h"
#include "costmodel/nccl_tuning.h"

namespace plait {
namespace {

constexpr Seconds us(double t) { return Seconds(t * 1e-6); }

/// Bytes on the wire per byte of the buffer.
double wire_factor(const NcclGroup& g) {
  const double gather = (g.ranks - 1) / g.ranks;
  switch (g.kind) {
    case CollectiveKind::kAllReduce: return 2 * gather;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll: return gather;
    case CollectiveKind::kBroadcast: return 1;
  }
  return 0;
}

double megabytes(Bytes bytes) { return static_cast<double>(bytes.value) / 1e6; }

// One NVLink island of a measured generation.
Cost island_cost(const ProtocolFit& fit, const NcclGroup& g, Bytes bytes,
                 const GroupPlacement& group, const Device& device) {
  const double steps = (g.kind == CollectiveKind::kAllReduce ? 2 : 1) * (g.ranks - 1);
  const double link = group.intra.bandwidth / fitted_link_rate(g.generation);
  const BytesPerSecond rate(fit.rate_gbps * 1e9 * (1 - fit.q / g.ranks) * link);
  Cost cost;
  cost.share[kLaunchOverhead] = us(fit.base_us) * launch_ratio(device);
  cost.share[latency_of(group.intra.link)] = us(fit.step_us * steps) * latency_ratio(group.intra);
  cost.share[bandwidth_of(group.intra.link)] =
      bytes / rate * wire_factor(g) + us(fit.ramp_us * std::sqrt(megabytes(bytes))) / link;
  const bool measured = g.ranks <= 8;
  cost.provenance = measured ? Provenance::kFitted : Provenance::kExtrapolated;
  cost.band = measured ? 0.08 : 0.25;
  return cost;
}

// All-reduces of about 1 MB and more (all but LL) over islands of 8 Hopper GPUs with a 400 Gbit/s
// NIC each:
//   t = a + b log2(nodes) + S f / B + c log2(nodes) sqrt(S / 1 MB),
// fitted to NVIDIA's published bus bandwidths for 32 to 8192 GPUs (GTC 2024, S62129): 7.4 % on
// group sizes left out for NVLSTree, 5.9 % for what NCCL takes by itself.
struct FabricFit {
  double base_us, node_us, rate_gbps, ramp_us;
};
constexpr FabricFit kNvlsTreeFit = {3.4, 56.1, 397, 3.96};
constexpr FabricFit kAutoFit = {0, 67.2, 364, 4.66};
constexpr double kFabricGbps = 384;  // of one island in the fit, as NCCL counts: 8 x 48

bool has_fabric_fit(const NcclGroup& g, const NcclOption& option) {
  return g.kind == CollectiveKind::kAllReduce && g.nodes > 1 && g.per_node >= 8 &&
         g.generation >= Generation::kHopper && g.intra_link == LinkClass::kNvlink &&
         option.protocol != Protocol::kLl;
}

Cost fabric_cost(const NcclGroup& g, Bytes bytes, const NcclOption& option,
                 const GroupPlacement& group, const Device& device) {
  const FabricFit& fit = option.algorithm == Algorithm::kNvlsTree ? kNvlsTreeFit : kAutoFit;
  const double link = ring_channels(g, Speeds::kContinuous).total() / (kFabricGbps * 1e9);
  const double rounds = std::log2(g.nodes);
  Cost cost;
  cost.share[kLaunchOverhead] = us(fit.base_us) * launch_ratio(device);
  cost.share[latency_of(group.inter.link)] = us(fit.node_us * rounds) * latency_ratio(group.inter);
  cost.share[bandwidth_of(group.inter.link)] =
      (bytes / BytesPerSecond(fit.rate_gbps * 1e9) * wire_factor(g) +
       us(fit.ramp_us * rounds * std::sqrt(megabytes(bytes)))) /
      link;
  const bool measured = g.generation == Generation::kHopper && g.per_node == 8;
  cost.provenance = measured ? Provenance::kFitted : Provenance::kExtrapolated;
  cost.band = measured ? 0.1 : 0.25;
  return cost;
}

// NCCL's own formula on the links' full rates.
Cost formula_cost(const NcclOption& option, Bytes bytes, const GroupPlacement& group,
                  const Device& device) {
  const LinkClass bound = option.inter_bound ? group.inter.link : group.intra.link;
  Cost cost;
  cost.share[kLaunchOverhead] = option.start * launch_ratio(device);
  if (group.ranks_per_node > 1)
    cost.share[latency_of(group.intra.link)] += option.intra_latency * latency_ratio(group.intra);
  if (group.nodes > 1)
    cost.share[latency_of(group.inter.link)] += option.inter_latency * latency_ratio(group.inter);
  cost.share[bandwidth_of(bound)] +=
      bytes / (option.bandwidth * option.size_penalty(bytes, Speeds::kContinuous));
  cost.provenance = Provenance::kDatasheet;
  cost.band = group.nodes > 1 ? 0.3 : 0.25;
  return cost;
}

Cost duration(const NcclOption& option, const NcclGroup& g, Bytes bytes,
              const GroupPlacement& group, const Device& device) {
  if (g.nodes <= 1 && g.intra_link == LinkClass::kNvlink) {
    const ProtocolFit* fit = protocol_fit(g.kind, g.generation, option.algorithm, option.protocol);
    if (fit != nullptr) return island_cost(*fit, g, bytes, group, device);
  }
  if (has_fabric_fit(g, option)) return fabric_cost(g, bytes, option, group, device);
  return formula_cost(option, bytes, group, device);
}

// NCCL takes the cheapest by its own estimate; `kFastest` by ours. Ties go to the earlier option.
CollectiveCost choose(const NcclGroup& g, Bytes bytes, const GroupPlacement& group,
                      const Device& device, Selection selection) {
  const std::vector<NcclOption> offered = nccl_options(g, bytes, Speeds::kLadder);
  const std::vector<NcclOption> continuous = nccl_options(g, bytes, Speeds::kContinuous);
  CollectiveCost best;
  Seconds least;
  for (std::size_t i = 0; i < offered.size(); ++i) {
    Cost cost;
    Seconds estimate = offered[i].time(bytes, Speeds::kLadder);
    if (selection == Selection::kFastest) {
      cost = duration(continuous[i], g, bytes, group, device);
      estimate = cost.total();
    }
    if (i > 0 && estimate >= least) continue;
    if (selection == Selection::kNccl) cost = duration(continuous[i], g, bytes, group, device);
    least = estimate;
    best = {cost, offered[i].algorithm, offered[i].protocol};
  }
  return best;
}

}  // namespace

CollectiveCost collective_cost(CollectiveKind kind, Bytes bytes, const GroupPlacement& group,
                               const Cluster& cluster, Selection selection) {
  if (group.ranks <= 1 || bytes.value == 0) return {};
  PLAIT_CHECK(bytes.value > 0, "a collective has a negative size");
  if (generation_of(cluster.device) == Generation::kCpu)
    return host_collective_cost(kind, bytes, group);
  if (kind == CollectiveKind::kAllToAll) return all_to_all_cost(bytes, group, cluster);
  return choose(nccl_group(kind, group, cluster), bytes, group, cluster.device, selection);
}

}  // namespace plait
