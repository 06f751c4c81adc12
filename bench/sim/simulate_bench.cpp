// Llama-3.1-405B on 16,384 GPUs (TP8, PP16, DP128): making the plan, and simulating it folded,
// folded without recording, with every rank on its own, and with another speed for every rank.
// `ns/op` divides by the op instances that the engine walked.

#include <benchmark/benchmark.h>

#include "plan/plan.h"
#include "scenarios/scenario.h"
#include "sim/simulate.h"

namespace plait {
namespace {

const Scenario& scenario() {
  static const Scenario loaded =
      load_scenario(PLAIT_SOURCE_DIR "/scenarios/llama/llama-3.1-405b-16384xh100.json");
  return loaded;
}

Plan plan_of(const Scenario& s) { return make_plan(s.model, s.workload, s.strategy); }

void simulate_in(benchmark::State& state, const Scenario& s, bool unfold, bool record) {
  const Plan plan = plan_of(s);
  const SimulationOptions options = {.unfold = unfold, .record = record, .placement = s.placement};
  Simulation last;
  for (auto _ : state) last = simulate(plan, s.cluster, CostModel{}, options);
  const auto ops = static_cast<double>(last.ops_simulated);
  state.counters["ops"] = ops;
  state.counters["classes"] = static_cast<double>(last.rank_classes);
  state.counters["step_s"] = to_seconds(last.timeline.step_time).value;
  state.counters["time/op"] =
      benchmark::Counter(ops * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void MakePlan(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(plan_of(scenario()));
}
BENCHMARK(MakePlan)->Unit(benchmark::kMicrosecond);

void MakePlanAndSimulateFolded(benchmark::State& state) {
  const Scenario& s = scenario();
  const bool record = state.range(0) != 0;
  const SimulationOptions options = {.unfold = false, .record = record, .placement = s.placement};
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulate(plan_of(s), s.cluster, CostModel{}, options));
  }
}
BENCHMARK(MakePlanAndSimulateFolded)
    ->ArgName("record")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMicrosecond);

void SimulateFolded(benchmark::State& state) { simulate_in(state, scenario(), false, true); }
BENCHMARK(SimulateFolded)->Unit(benchmark::kMicrosecond);

void SimulateFoldedWithoutRecord(benchmark::State& state) {
  simulate_in(state, scenario(), false, false);
}
BENCHMARK(SimulateFoldedWithoutRecord)->Unit(benchmark::kMicrosecond);

void SimulateUnfolded(benchmark::State& state) { simulate_in(state, scenario(), true, false); }
BENCHMARK(SimulateUnfolded)->Unit(benchmark::kMillisecond);

void SimulateJitterOnEveryRank(benchmark::State& state) {
  constexpr double kJitter = 0.05;  // factors between 1 and 1.05
  Scenario s = scenario();
  s.cluster.jitter = kJitter;
  simulate_in(state, s, false, false);
}
BENCHMARK(SimulateJitterOnEveryRank)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plait
