#pragma once
// What collectives keep from kernels, for the reference simulator: each rank's own, looked up one
// by one. Shares no code with sim/.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "core/time.h"
#include "costmodel/costmodel.h"
#include "costmodel/held_multiprocessors.h"
#include "plan/plan.h"
#include "topologies/cluster.h"

namespace plait {

/// Empty functions: nothing slows kernels down.
struct Beside {
  /// Multiprocessors of the rank's device.
  std::function<int(std::int64_t rank)> device;
  /// Those that the collective `op` of `block` keeps on the rank.
  std::function<int(std::int64_t rank, BlockId block, std::size_t op)> held;
};

/// A stretch of time in which `sms` are held.
struct Stretch {
  SimTime from, to;
  int sms;
};

/// When a kernel ends that needs `work` with all `sms`: from one change to the next at the pace of
/// those that are left, what is left of it rounded up wherever the pace is another.
inline SimTime end_of_kernel(const std::vector<Stretch>& stretches, int sms, SimTime start,
                             SimTime work) {
  std::set<SimTime> changes = {start};
  for (const Stretch& s : stretches) {
    for (const SimTime t : {s.from, s.to}) {
      if (t > start) changes.insert(t);
    }
  }
  SimTime end = start + work;
  std::int64_t before = sms;
  for (const SimTime now : changes) {
    if (now >= end) break;
    std::int64_t left = sms;
    for (const Stretch& s : stretches) left -= s.from <= now && now < s.to ? s.sms : 0;
    left = std::max<std::int64_t>(left, 1);
    if (left != before) end = now + ((end - now) * before + left - 1) / left;
    before = left;
  }
  return end;
}

/// As machine and cost model have it. Collectives across stages keep nothing.
inline Beside beside_of(const Plan& plan, const Cluster& cluster, const CostModel& costs,
                        const std::vector<std::int64_t>& placement) {
  const auto device = [placement](std::int64_t r) {
    return placement.empty() ? r : placement[static_cast<std::size_t>(r)];
  };
  const auto node = [=, &cluster](std::int64_t rank) -> const NodeKind& {
    return cluster.kind(cluster.kind_of(device(rank)));
  };
  Beside out;
  out.device = [=](std::int64_t rank) { return node(rank).device.sms; };
  out.held = [=, &plan, &cluster](std::int64_t rank, BlockId block, std::size_t index) {
    const auto* c = std::get_if<Collective>(&plan.blocks[block].ops[index].body);
    if (c == nullptr || c->axes.has(Axis::kPp)) return 0;
    std::vector<std::int64_t> devices;
    for (std::int64_t m : plan.mesh.group(rank, c->axes)) devices.push_back(device(m));
    if (devices.size() == 1) return 0;
    const GroupPlacement group = place_group(cluster, devices);
    const Algorithm algorithm = costs.collective(*c, group, cluster).algorithm;
    return held_multiprocessors(*c, algorithm, group, node(rank), costs.calibration.get());
  };
  return out;
}

/// Asks once for each op of each rank.
inline Beside remembered(Beside beside) {
  using Key = std::tuple<std::int64_t, BlockId, std::size_t>;
  const auto known = std::make_shared<std::map<Key, int>>();
  Beside out = beside;
  out.held = [known, beside](std::int64_t rank, BlockId block, std::size_t op) {
    const auto [at, fresh] = known->try_emplace({rank, block, op}, 0);
    if (fresh) at->second = beside.held(rank, block, op);
    return at->second;
  };
  return out;
}

}  // namespace plait
