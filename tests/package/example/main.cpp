// The step time of a scenario, by the installed library: scenario -> plan -> timeline.
#include <cstdio>

#include "core/error.h"
#include "scenarios/scenario.h"
#include "sim/simulate.h"
#include "topologies/variation.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const plait::Scenario scenario = plait::load_scenario(argv[1]);
    const plait::Plan plan = make_plan(scenario.model, scenario.workload, scenario.strategy);
    plait::CostModel costs;
    costs.host = scenario.host;
    costs.kernels = scenario.kernels;
    const plait::Cluster& cluster = scenario.cluster;
    costs.slowest = plait::slowest_device(cluster.variation, cluster.world_size());
    const plait::Simulation result =
        simulate(plan, cluster, costs, {.placement = scenario.placement});
    std::printf("%.6f s\n", plait::to_seconds(result.timeline.step_time).value);
  } catch (const plait::InputError& error) {
    std::fprintf(stderr, "%s", error.what());
    return 2;
  }
}
