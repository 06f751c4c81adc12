#include "costmodel/measured_links.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "costmodel/costmodel.h"

namespace plait {
namespace {

std::optional<CollectiveKind> kind_of(const CollectiveTimings& run) {
  using enum CollectiveKind;
  for (const CollectiveKind k : {kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast}) {
    if (name_of(k) == run.collective) return k;
  }
  return std::nullopt;
}

/// The ranks of the run, as many on each host; where it does not say how many: on all devices.
std::vector<std::int64_t> devices_of(const CollectiveTimings& run, const Cluster& cluster) {
  const std::int64_t ranks = run.ranks > 0 ? run.ranks : cluster.world_size();
  std::vector<std::int64_t> out;
  for (std::int64_t r = 0; r < ranks; ++r) {
    const std::int64_t node = r * cluster.nodes / ranks;
    const std::int64_t first = (node * ranks + cluster.nodes - 1) / cluster.nodes;
    out.push_back(node * cluster.devices_per_node + (r - first) % cluster.devices_per_node);
  }
  return out;
}

Seconds predicted(const CollectiveTimings& run, CollectiveKind kind, Bytes size,
                  const ClusterSpec& spec) {
  const Cluster cluster = make_cluster(spec);
  Collective op;
  op.kind = kind;
  op.dtype = DType::kInt8;
  op.elements = size.value;
  const GroupPlacement group = place_group(cluster, devices_of(run, cluster));
  return CostModel().collective(op, group, cluster).cost.total();
}

}  // namespace

std::optional<double> measured_link_factor(const CollectiveTimings& run,
                                           const MachineWithLinks& machine) {
  constexpr double kWidest = 100, kPrecision = 1e-4;
  const std::optional<CollectiveKind> kind = kind_of(run);
  if (!kind || run.rows.empty()) return std::nullopt;
  const CollectiveTiming& row = *std::ranges::max_element(
      run.rows, {}, [](const CollectiveTiming& r) { return r.size.value; });
  const auto slower = [&](double factor) {
    return predicted(run, *kind, row.size, machine(factor)) > row.time;
  };
  double low = 1 / kWidest, high = kWidest;
  if (!slower(low) || slower(high)) return std::nullopt;
  while (high / low > 1 + kPrecision) {
    const double middle = std::sqrt(low * high);
    (slower(middle) ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

}  // namespace plait
