#include "costmodel/collectives.h"

#include "core/error.h"
#include "costmodel/collective_fits.h"
#include "costmodel/links.h"
#include "costmodel/nccl_tuning.h"
#include "costmodel/transfer.h"

namespace plait {
namespace {

Quality quality(bool measured, double band) {
  return measured ? Quality{Provenance::kFitted, band} : Quality{Provenance::kExtrapolated, 0.25};
}

/// A fit at the group's own links: those that bound it are `links` times as fast as those that were
/// measured.
Cost scaled(const FittedTime& time, const Path& path, LinkClass bound, double links,
            const Device& device, Quality fit) {
  Cost cost;
  cost.share[kLaunchOverhead] = time.start * launch_ratio(device);
  cost.share[latency_of(path.outermost())] = time.hops * latency_ratio(path);
  cost.share[bandwidth_of(bound)] = time.transfer / links;
  cost.provenance = fit.provenance;
  cost.band = fit.band;
  return cost;
}

// Two, four and eight GPUs were measured.
constexpr double kMostMeasured = 8;

// One NVLink island of a measured generation.
Cost island_cost(const ProtocolFit& fit, const NcclGroup& g, Bytes bytes,
                 const GroupPlacement& group, const Device& device) {
  const double links = group.intra.bandwidth / fitted_link_rate(g.generation);
  return scaled(island_time(fit, g, bytes), group.intra, group.intra.link, links, device,
                quality(true, 0.08));
}

// All-reduces of about 1 MB and more (all but LL) over islands of at least 8 Hoppers.
bool has_fabric_fit(const NcclGroup& g, const NcclOption& option) {
  return g.kind == CollectiveKind::kAllReduce && g.nodes > 1 && g.per_node >= 8 &&
         (g.generation == Generation::kHopper || g.generation == Generation::kBlackwell) &&
         g.intra_link == LinkClass::kNvlink && option.protocol != Protocol::kLl;
}

constexpr double kFabricGbps = 384;  // of one measured island, as NCCL counts: 8 x 48

Cost fabric_cost(const NcclGroup& g, Bytes bytes, const GroupPlacement& group,
                 const Device& device) {
  const double links = ring_channels(g, Speeds::kContinuous).total() / (kFabricGbps * 1e9);
  const bool fitted =
      g.generation == Generation::kHopper && g.per_node == 8 && g.nodes >= 4 && g.nodes <= 128;
  const LinkClass bound = network_bounds(g) ? group.inter.link : group.intra.link;
  return scaled(fabric_time(fabric_fit(), g, bytes), group.inter, bound, links, device,
                quality(fitted, 0.1));
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
    cost.share[latency_of(group.inter.outermost())] +=
        option.inter_latency * latency_ratio(group.inter);
  cost.share[bandwidth_of(bound)] +=
      bytes / (option.bandwidth * option.size_penalty(bytes, Speeds::kContinuous));
  cost.provenance = Provenance::kDatasheet;
  cost.band = group.nodes > 1 ? 0.3 : 0.25;
  return cost;
}

// An island of more GPUs than were measured: hops by NCCL's formula, since what a step costs 8 GPUs
// says little about 72; bytes by the fit, of the protocol for large messages only.
Cost larger_island_cost(const ProtocolFit& fit, const NcclOption& option, const NcclGroup& g,
                        Bytes bytes, const GroupPlacement& group, const Device& device) {
  const double links = group.intra.bandwidth / fitted_link_rate(g.generation);
  Cost cost = formula_cost(option, bytes, group, device);
  if (fit.protocol != Protocol::kSimple) return cost;
  cost.share[bandwidth_of(group.intra.link)] = island_time(fit, g, bytes).transfer / links;
  cost.provenance = Provenance::kExtrapolated;
  return cost;
}

Cost option_cost(const NcclOption& option, const NcclGroup& g, Bytes bytes,
                 const GroupPlacement& group, const Device& device) {
  const ProtocolFit* fit = protocol_fit(g.kind, g.generation, option.algorithm, option.protocol);
  if (g.nodes <= 1 && g.intra_link == LinkClass::kNvlink && fit != nullptr) {
    return g.ranks <= kMostMeasured ? island_cost(*fit, g, bytes, group, device)
                                    : larger_island_cost(*fit, option, g, bytes, group, device);
  }
  if (has_fabric_fit(g, option)) return fabric_cost(g, bytes, group, device);
  return formula_cost(option, bytes, group, device);
}

// Options stand in the same order on NCCL's ladder of speeds and off it.
CollectiveCost chosen_by_nccl(const NcclGroup& g, Bytes bytes, const GroupPlacement& group,
                              const Device& device) {
  const NcclOption option = nccl_options(g, bytes, Speeds::kContinuous).at(nccl_choice(g, bytes));
  return {option_cost(option, g, bytes, group, device), option.algorithm, option.protocol};
}

CollectiveCost fastest(const NcclGroup& g, Bytes bytes, const GroupPlacement& group,
                       const Device& device) {
  CollectiveCost best;
  for (const NcclOption& option : nccl_options(g, bytes, Speeds::kContinuous)) {
    const Cost cost = option_cost(option, g, bytes, group, device);
    if (best.cost.total() > Seconds() && cost.total() >= best.cost.total()) continue;
    best = {cost, option.algorithm, option.protocol};
  }
  return best;
}

// Every member sends to the next one and receives from the one before, in both directions at once;
// the slowest of these messages ends last.
CollectiveCost shift_cost(Bytes bytes, const GroupPlacement& group) {
  const Path& path = group.nodes > 1 ? group.inter : group.intra;
  return {message_cost(bytes, path), Algorithm::kRing, Protocol::kSimple};
}

}  // namespace

CollectiveCost collective_cost(CollectiveKind kind, Bytes bytes, const GroupPlacement& group,
                               const Cluster& cluster, Selection selection) {
  if (group.ranks <= 1 || bytes.value == 0) return {};
  PLAIT_CHECK(bytes.value > 0, "a collective has a negative size");
  const NodeKind& weakest = cluster.kind(group.kind);
  if (generation_of(weakest.device) == Generation::kCpu)
    return host_collective_cost(kind, bytes, group);
  if (cluster.shares_memory()) return part_collective_cost(kind, bytes, group, weakest.device);
  if (kind == CollectiveKind::kShift) return shift_cost(bytes, group);
  if (kind == CollectiveKind::kAllToAll) return all_to_all_cost(bytes, group, weakest);
  const NcclGroup g = nccl_group(kind, group, weakest);
  return selection == Selection::kNccl ? chosen_by_nccl(g, bytes, group, weakest.device)
                                       : fastest(g, bytes, group, weakest.device);
}

}  // namespace plait
