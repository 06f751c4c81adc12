// Eight ranks in two network namespaces of a computer with two cores: 24 layers, 16 microbatches;
// replicas that reduce gradients, shards that are gathered and scattered in rings, two stages.
// `ops` is the number of ops of all ranks.

#include <benchmark/benchmark.h>

#include "sim/event/event_engine.h"
#include "tests/sim/cases.h"

namespace plait {
namespace {

Piecewise per_byte(double seconds) { return Piecewise({{0, 0}, {1e9, 1e9 * seconds}}); }

HostSystem two_namespaces() {
  HostSystem s;
  s.hosts = 2, s.ranks_per_host = 4, s.machines = 1, s.cores = 2;
  s.link = {BytesPerSecond(119.6e6), BytesPerSecond(1e9), Bytes(256'000)};  // 1 Gbit/s
  s.within.send = s.within.receive = per_byte(3e-10);
  s.within.latency = Seconds(20e-6);
  s.between = s.within;
  s.combine = per_byte(2e-10);
  return s;
}

void simulate_on_hosts(benchmark::State& state, Case c) {
  c.model.layers = 24;
  c.workload.global_batch *= 8;
  const Plan plan = c.plan();
  const Cluster cluster = c.cluster();
  const CostModel costs;
  const HostSystem hosts = two_namespaces();
  const WorkOf work = work_of(plan, cluster, costs);
  for (auto _ : state) benchmark::DoNotOptimize(simulate_hosts(plan, hosts, work));
  state.counters["ops"] = static_cast<double>(op_count(plan));
}
BENCHMARK_CAPTURE(simulate_on_hosts, dp8, small_case(1, 8, 1, 1))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_on_hosts, fsdp8, small_case(1, 1, 8, 1))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_on_hosts, pp2_dp2_tp2, small_case(2, 2, 1, 2))
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plait
