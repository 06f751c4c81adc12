// The flow network: a 70B step (TP8, PP4, data parallel) on 64 to 1,024 GPUs of a fat tree, folded
// and with every rank on its own, and collectives message by message.

#include <benchmark/benchmark.h>

#include <numeric>

#include "plan/plan.h"
#include "scenarios/scenario.h"
#include "sim/simulate.h"
#include "tests/sim/replay.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

Scenario on_nodes(std::int64_t nodes) {
  const std::string replicas = std::to_string(nodes * 8 / 32);
  return load_scenario(PLAIT_SOURCE_DIR "/scenarios/llama/llama-3.1-70b-64xh100.json",
                       {{"cluster.nodes", std::to_string(nodes)},
                        {"strategy.pp", "4"},
                        {"strategy.dp", replicas},
                        {"workload.global_batch", std::to_string(nodes * 8)}});
}

/// Per op instance that the engine walks.
void simulate_on(benchmark::State& state, bool unfold) {
  const Scenario s = on_nodes(state.range(0));
  const Plan plan = make_plan(s.model, s.workload, s.strategy);
  const SimulationOptions options = {.network = make_network(s.cluster),
                                     .unfold = unfold,
                                     .record = false,
                                     .placement = s.placement};
  Simulation last;
  for (auto _ : state) last = simulate(plan, s.cluster, CostModel{}, options);
  const auto ops = static_cast<double>(last.ops_simulated);
  state.counters["ops"] = ops;
  state.counters["step_s"] = to_seconds(last.timeline.step_time).value;
  state.counters["time/op"] =
      benchmark::Counter(ops * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void FlowsFolded(benchmark::State& state) { simulate_on(state, false); }
BENCHMARK(FlowsFolded)->ArgName("nodes")->Arg(8)->Arg(32)->Arg(128)->Unit(benchmark::kMillisecond);

void FlowsUnfolded(benchmark::State& state) { simulate_on(state, true); }
BENCHMARK(FlowsUnfolded)->ArgName("nodes")->Arg(8)->Arg(128)->Unit(benchmark::kMillisecond);

void ReplayRings(benchmark::State& state) {
  const std::int64_t hosts = state.range(0);
  ClusterSpec spec;
  spec.nodes = hosts / 8;
  const std::shared_ptr<const Network> network = make_network(make_cluster(spec));
  std::vector<std::int64_t> devices(static_cast<std::size_t>(hosts));
  std::iota(devices.begin(), devices.end(), 0);
  const std::vector<ReplayedCollective> rings(
      static_cast<std::size_t>(state.range(1)),
      {devices, {Pattern::kRing}, CollectiveKind::kAllReduce, Bytes(hosts * 1'000'000), 64});
  const SimTime longest_rest = state.range(2) * 1'000'000;
  std::int64_t transfers = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Replayer replayer(*network, rings, {.longest_rest = longest_rest});
    state.ResumeTiming();
    transfers += replayer.run().transfers;
  }
  state.counters["transfers/s"] =
      benchmark::Counter(static_cast<double>(transfers), benchmark::Counter::kIsRate);
}
BENCHMARK(ReplayRings)
    ->ArgNames({"hosts", "rings", "rest_us"})
    ->Args({64, 1, 0})
    ->Args({1024, 1, 0})
    ->Args({1024, 8, 4})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plait
