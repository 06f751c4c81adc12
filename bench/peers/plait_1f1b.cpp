// The 1F1B pipeline with data parallel replicas on Plait: a transformer of one layer per stage, its
// plan from make_plan, every rank simulated on its own. An activity is an op of a rank: a kernel, a
// collective, a send or a receive.
// Usage: plait_1f1b [STAGES MICROBATCHES REPLICAS]

#include <string>

#include "bench/peers/row.h"
#include "plan/plan.h"
#include "scenarios/scenario.h"
#include "sim/simulate.h"

namespace {

std::string scenario_text(plait::PipelineSizes sizes) {
  constexpr int kGpusPerNode = 8;
  const int nodes = (sizes.ranks() + kGpusPerNode - 1) / kGpusPerNode;
  return fmt::format(
      R"({{
        "name": "1F1B, one layer per stage",
        "model": {{"preset": "llama-3.1-8b", "layers": {stages}}},
        "workload": {{"sequence_length": 2048, "global_batch": {batch}, "micro_batch": 1}},
        "strategy": {{"pp": {stages}, "dp": {replicas}}},
        "cluster": {{"preset": "hgx-h100", "nodes": {nodes}}}
      }})",
      fmt::arg("stages", sizes.stages), fmt::arg("batch", sizes.microbatches * sizes.replicas),
      fmt::arg("replicas", sizes.replicas), fmt::arg("nodes", nodes));
}

}  // namespace

int main(int argc, char** argv) {
  const plait::PipelineSizes sizes = plait::sizes_from(argc, argv);
  const plait::Scenario scenario = plait::parse_scenario(scenario_text(sizes), "plait_1f1b.cpp");
  plait::Simulation simulation;
  const double seconds = plait::seconds_of([&] {
    const plait::Plan plan = plait::make_plan(scenario.model, scenario.workload, scenario.strategy);
    simulation = plait::simulate(plan, scenario.cluster, plait::CostModel{},
                                 {.unfold = true, .record = false, .placement = {}});
  });
  plait::print_row("plait", sizes.ranks(), simulation.ops_simulated, seconds,
                   plait::to_seconds(simulation.timeline.step_time).value);
}
