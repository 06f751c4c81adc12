#pragma once
// simulate(Plan, Cluster, CostModel) -> Timeline, exactly and in microseconds: an engine on rank
// classes. Ranks that cannot be told apart are simulated once. With the analytic network
// messages take as long as they do alone and the sweep engine adds durations up; with the flow
// network messages share links, and the flow engine follows them.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/watch.h"
#include "costmodel/costmodel.h"
#include "plan/dependencies.h"
#include "plan/plan.h"
#include "plan/timeline.h"
#include "sim/durations.h"
#include "sim/flow/contention.h"
#include "topologies/cluster.h"
#include "topologies/network.h"

namespace plait {

struct SimulationOptions {
  /// Links that messages share (make_network of the cluster); null: the analytic network, where
  /// each takes its time by itself.
  std::shared_ptr<const Network> network = nullptr;
  /// Kernels slow down while collectives hold SMs.
  bool interference = true;
  bool unfold = false;  // every rank on its own; same step time to the picosecond
  bool record = true;   // fill Timeline::tracks
  /// Device on which each mesh rank runs, of all or some; empty: rank r on device r.
  std::vector<std::int64_t> placement;
  Watch watch = {};  // with a network: of op instances that have begun
};

struct CollectiveChoice {  // what NCCL would choose, for the report
  Collective op;
  GroupPlacement group;
  CollectiveCost cost;
};

struct Simulation {
  Timeline timeline;
  std::shared_ptr<const Dependencies> dependencies;  // what explain() reads the reasons from
  std::shared_ptr<const Lanes> lanes;
  std::shared_ptr<const Durations> durations;
  std::int64_t rank_classes = 0;
  std::int64_t ops_simulated = 0;             // op instances that the engine walked
  std::int64_t ops_represented = 0;           // of all ranks
  std::vector<CollectiveChoice> collectives;  // one per distinct collective
  std::vector<Contention> contention;         // on the network; most time lost first
};

/// Throws InputError when the plan's world does not match the cluster, InternalError naming the
/// first blocked op of each role when the plan cannot make progress.
Simulation simulate(const Plan& plan, const Cluster& cluster, const CostModel& costs,
                    const SimulationOptions& options = {});

}  // namespace plait
