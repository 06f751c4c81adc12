#include "serving/unlike_replicas.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "serving/replica_ranks.h"
#include "topologies/variation.h"

namespace plait {
namespace {

/// What the time of a step depends on besides its shape.
struct ReplicaHardware {
  std::vector<std::size_t> kinds;    // of the device of each rank
  std::vector<double> slowdowns;     // the same
  std::vector<GroupPlacement> rows;  // of the ranks of tp, on each stage
  std::vector<Path> hops;            // from each rank to the next stage
  bool operator==(const ReplicaHardware&) const = default;
};

ReplicaHardware hardware_of(const ServedModel& s, std::size_t replica) {
  const Mesh& mesh = s.layout.mesh;
  ReplicaHardware out;
  std::vector<std::int64_t> before;
  for (std::int64_t stage = 0; stage < mesh[Axis::kPp]; ++stage) {
    std::vector<std::int64_t> row;
    for (std::int64_t tp = 0; tp < mesh[Axis::kTp]; ++tp) {
      row.push_back(replica_device(s, stage, static_cast<std::int64_t>(replica), tp));
      out.kinds.push_back(s.cluster.kind_of(row.back()));
      out.slowdowns.push_back(slowdown_of(s.cluster, row.back()));
    }
    if (row.size() > 1) out.rows.push_back(place_group(s.cluster, row));
    for (std::size_t i = 0; i < before.size(); ++i) {
      out.hops.push_back(route(s.cluster, before[i], row[i]));
    }
    before = std::move(row);
  }
  return out;
}

}  // namespace

std::vector<std::size_t> first_alike(const ServedModel& s) {
  std::vector<std::size_t> out(static_cast<std::size_t>(s.layout.mesh[Axis::kDp]), 0);
  if (out.size() == 1 || s.layout.experts != ExpertSharing::kNone) return out;
  std::vector<std::pair<ReplicaHardware, std::size_t>> known;
  for (std::size_t r = 0; r < out.size(); ++r) {
    ReplicaHardware hardware = hardware_of(s, r);
    const auto found =
        std::ranges::find(known, hardware, &std::pair<ReplicaHardware, std::size_t>::first);
    out[r] = found == known.end() ? r : found->second;
    if (found == known.end()) known.emplace_back(std::move(hardware), r);
  }
  return out;
}

ServedModel with_first(const ServedModel& s, std::size_t replica) {
  ServedModel out = s;
  if (replica == 0) return out;
  const Mesh& mesh = s.layout.mesh;
  if (out.placement.empty()) {
    out.placement.resize(static_cast<std::size_t>(mesh.world_size()));
    std::iota(out.placement.begin(), out.placement.end(), 0);
  }
  for (std::int64_t stage = 0; stage < mesh[Axis::kPp]; ++stage) {
    for (std::int64_t tp = 0; tp < mesh[Axis::kTp]; ++tp) {
      const std::int64_t first = replica_rank(mesh, stage, 0, tp);
      const std::int64_t other = replica_rank(mesh, stage, static_cast<std::int64_t>(replica), tp);
      std::swap(out.placement[static_cast<std::size_t>(first)],
                out.placement[static_cast<std::size_t>(other)]);
    }
  }
  return out;
}

}  // namespace plait
