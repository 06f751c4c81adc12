#include "sim/simulate.h"

#include "core/error.h"
#include "sim/sweep.h"

namespace plait {
namespace {

void require_world(const Plan& plan, const Cluster& cluster,
                   const std::vector<std::int64_t>& placement) {
  const std::int64_t ranks = plan.mesh.world_size(), devices = cluster.world_size();
  if (ranks != devices) {
    throw InputError({"S045",
                      "the strategy needs " + std::to_string(ranks) +
                          " ranks and the cluster has " + std::to_string(devices) + " devices",
                      {"", 0, 0, "strategy"},
                      "pp x dp x fsdp x tp = devices of the cluster",
                      "change the strategy's sizes or cluster.nodes"});
  }
  PLAIT_CHECK(placement.empty() || static_cast<std::int64_t>(placement.size()) == ranks,
              "a placement that does not name a device for each rank");
}

std::vector<CollectiveChoice> choices(const Sites& sites, const Durations& durations) {
  std::vector<CollectiveChoice> out;
  for (const Durations::Choice& c : durations.choices()) {
    out.push_back({c.op, sites.groups[c.site], c.cost});
  }
  return out;
}

}  // namespace

Simulation simulate(const Plan& plan, const Cluster& cluster, const CostModel& costs,
                    const SimulationOptions& options) {
  require_world(plan, cluster, options.placement);
  Simulation out;
  const Sites sites = locate(plan, cluster, options.placement);
  out.lanes = std::make_shared<Lanes>(fold(plan, sites, options.unfold));
  out.durations = std::make_shared<Durations>(plan, cluster, costs, sites, *out.lanes);
  Dependencies deps = dependencies(plan);
  if (out.lanes->count() > 1) {
    for (ProgramDependencies& p : deps.programs) reuse_events(p);
  }
  out.dependencies = std::make_shared<Dependencies>(std::move(deps));
  Sweep swept = sweep(plan, *out.dependencies, *out.lanes, *out.durations, options.record);
  out.timeline.step_time = swept.step_time;
  out.timeline.tracks = std::move(swept.tracks);
  out.rank_classes = static_cast<std::int64_t>(out.lanes->count() * plan.programs.size());
  out.ops_simulated = swept.ops_walked;
  out.ops_represented = op_count(plan);
  out.collectives = choices(sites, *out.durations);
  return out;
}

}  // namespace plait
