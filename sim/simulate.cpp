#include "sim/simulate.h"

#include "core/error.h"
#include "plan/places.h"
#include "plan/refusal.h"
#include "sim/flow/flow_engine.h"
#include "sim/step_length.h"
#include "sim/sweep.h"

namespace plait {
namespace {

void require_world(const Plan& plan, const Cluster& cluster,
                   const std::vector<std::int64_t>& placement, bool flows) {
  const std::int64_t ranks = rank_count(plan), devices = cluster.world_size();
  const bool on_some = !placement.empty() && ranks < devices;
  if (ranks != devices && !on_some) {
    throw InputError({"S045",
                      "the strategy needs " + std::to_string(ranks) +
                          " ranks and the cluster has " + std::to_string(devices) + " devices",
                      {"", 0, 0, "strategy"},
                      "pp x dp x fsdp x tp = devices of the cluster",
                      "change the strategy's sizes or cluster.nodes"});
  }
  if (!flows && cluster.shares_memory()) {
    throw refusal("S055", "parts of a GPU share its memory, which only the flow network knows",
                  "cluster.node.family", "devices with memory of their own",
                  "simulate it with `plait run`");
  }
  if (flows && !plan.stage_tp.empty()) {
    throw refusal("S054", "the flow network knows no stages of different tensor-parallel degrees",
                  "network", "\"analytic\" with strategy.stage_tp", "set network to \"analytic\"");
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

/// The flow network divides links among those that use them: the own rate of a group, or of a
/// message, is the one that it has alone.
Sites undivided(Sites sites) {
  for (GroupPlacement& g : sites.groups) {
    g.intra = g.intra_alone, g.intra_exchange = g.intra_exchange_alone;
    g.inter = g.inter_alone, g.exchange = g.exchange_alone;
  }
  for (PeerPath& p : sites.paths) p.all = p.alone;
  return sites;
}

/// What the engines need besides the plan.
std::shared_ptr<const Dependencies> dependencies_for(const Plan& plan, bool many_lanes) {
  Dependencies deps = dependencies(plan);
  if (many_lanes) {
    for (ProgramDependencies& p : deps.programs) reuse_events(p);
  }
  return std::make_shared<Dependencies>(std::move(deps));
}

void swept(Simulation& out, const Plan& plan, const Cluster& cluster, const CostModel& costs,
           const Sites& sites, const SimulationOptions& options) {
  out.lanes = std::make_shared<Lanes>(fold(plan, sites, options.unfold));
  out.durations =
      std::make_shared<Durations>(plan, cluster, costs, sites, *out.lanes, options.interference);
  require_countable(plan, *out.durations, out.lanes->count());
  out.dependencies = dependencies_for(plan, out.lanes->count() > 1);
  Sweep run = sweep(plan, *out.dependencies, *out.lanes, *out.durations, options.record);
  out.timeline = {run.step_time, std::move(run.tracks)};
  out.ops_simulated = run.ops_walked;
}

void flowed(Simulation& out, const Plan& plan, const Cluster& cluster, const CostModel& costs,
            const Sites& sites, const SimulationOptions& options) {
  const std::vector<FlowKind> kinds = flow_kinds(plan, cluster, costs, sites);
  const LinkLoads loads(plan, cluster, sites, *options.network, options.placement, kinds,
                        options.unfold);
  out.lanes = std::make_shared<Lanes>(loads.lanes());
  out.durations = std::make_shared<Durations>(plan, cluster, costs, sites, *out.lanes);
  require_countable(plan, *out.durations, out.lanes->count());
  out.dependencies = dependencies_for(plan, false);
  const Transfers transfers(plan, cluster, costs, sites, kinds, loads, *out.durations);
  std::vector<int> sms;
  for (std::size_t k = 0; k < cluster.kinds(); ++k) {
    const bool held = options.interference && !cluster.shares_memory();
    sms.push_back(held ? cluster.kind(k).device.sms : 0);
  }
  const FlowMachine machine = {loads, transfers,        *out.durations, kinds,
                               sites, *options.network, std::move(sms)};
  FlowRun run = run_flows(plan, *out.dependencies, machine, options.record, options.watch);
  out.timeline = {run.step_time, std::move(run.tracks)};
  out.ops_simulated = run.ops_walked;
  out.contention = std::move(run.contention);
}

}  // namespace

Simulation simulate(const Plan& plan, const Cluster& cluster, const CostModel& costs,
                    const SimulationOptions& options) {
  require_world(plan, cluster, options.placement, options.network != nullptr);
  Simulation out;
  Sites sites = locate(plan, cluster, devices_of_places(plan, options.placement));
  if (options.network == nullptr) {
    swept(out, plan, cluster, costs, sites, options);
  } else {
    sites = undivided(std::move(sites));
    flowed(out, plan, cluster, costs, sites, options);
  }
  out.rank_classes = static_cast<std::int64_t>(out.lanes->count() * plan.programs.size());
  out.ops_represented = op_count(plan);
  out.collectives = choices(sites, *out.durations);
  return out;
}

}  // namespace plait
