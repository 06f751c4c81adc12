// Time and memory against world size: Llama-3.1-70B (TP4, PP4) with 4 to 8,192 data parallel
// replicas, 64 to 131,072 GPUs, folded. Each row runs in a process of its own, so that the peak
// memory is its own.

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/stopwatch.h"
#include "plan/plan.h"
#include "scenarios/scenario.h"
#include "sim/simulate.h"

namespace {

constexpr int kGpusPerReplica = 16, kGpusPerNode = 8, kMicrobatches = 32;
constexpr int kRepeats = 20;

plait::Scenario scenario_with(int replicas) {
  const auto text = [](int value) { return std::to_string(value); };
  return plait::load_scenario(PLAIT_SOURCE_DIR "/scenarios/llama/llama-3.1-70b-64xh100.json",
                              {{"strategy.dp", text(replicas)},
                               {"workload.global_batch", text(kMicrobatches * replicas)},
                               {"cluster.nodes", text(replicas * kGpusPerReplica / kGpusPerNode)}});
}

void print_world(int replicas) {
  plait::Scenario scenario;
  plait::Plan plan;
  plait::Simulation simulation;
  double plan_s = 1e9, simulate_s = 1e9;
  const double load_s = plait::seconds_of([&] { scenario = scenario_with(replicas); });
  for (int i = 0; i < kRepeats; ++i) {
    plan_s = std::min(plan_s, plait::seconds_of([&] {
                        plan =
                            plait::make_plan(scenario.model, scenario.workload, scenario.strategy);
                      }));
    simulate_s = std::min(simulate_s, plait::seconds_of([&] {
                            simulation =
                                plait::simulate(plan, scenario.cluster, plait::CostModel{});
                          }));
  }
  fmt::print("{:>8} {:>16} {:>8} {:>10.3f} {:>10.3f} {:>12.3f} {:>9} {:>12.6f}\n",
             replicas * kGpusPerReplica, simulation.ops_represented, simulation.rank_classes,
             load_s * 1e3, plan_s * 1e3, simulate_s * 1e3, plait::peak_mebibytes(),
             plait::to_seconds(simulation.timeline.step_time).value);
}

}  // namespace

int main() {
  fmt::print("{:>8} {:>16} {:>8} {:>10} {:>10} {:>12} {:>9} {:>12}\n", "gpus", "ops", "classes",
             "load_ms", "plan_ms", "simulate_ms", "peak_MiB", "step_s");
  std::fflush(stdout);
  for (int replicas = 4; replicas <= 8192; replicas *= 2) {
    const pid_t child = fork();
    if (child == 0) {
      print_world(replicas);
      std::fflush(stdout);
      std::_Exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return 1;
  }
}
