// Whole searches over everything that a scenario can leave open; layouts decided per second, and
// full simulations per second of the layouts that are found.

#include <benchmark/benchmark.h>

#include "search/search.h"

namespace plait {
namespace {

/// With another global batch than its own, if one is given.
Scenario scenario(const char* name, std::int64_t global_batch = 0) {
  Scenario out = load_scenario(std::string(PLAIT_SOURCE_DIR) + "/scenarios/" + name);
  if (global_batch > 0) out.workload.global_batch = global_batch;
  return out;
}

CostModel costs_of(const Scenario& s) {
  CostModel costs;
  costs.host = s.host, costs.kernels = s.kernels;
  return costs;
}

SearchResult search_everything(const Scenario& s, const CostModel& costs, int threads) {
  return search(s, costs, Space{}, {}, threads);
}

/// Arguments: threads.
void search_all(benchmark::State& state, const char* name, std::int64_t global_batch = 0) {
  const Scenario s = scenario(name, global_batch);
  const CostModel costs = costs_of(s);
  const int threads = static_cast<int>(state.range(0));
  std::int64_t layouts = 0;
  for (auto _ : state) {
    layouts += search_everything(s, costs, threads).certificate.considered;
  }
  state.counters["layouts"] =
      benchmark::Counter(static_cast<double>(layouts), benchmark::Counter::kAvgIterations);
  state.counters["layouts_per_s"] =
      benchmark::Counter(static_cast<double>(layouts), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(search_all, llama_405b_16384, "llama/llama-3.1-405b-16384xh100.json")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_all, gpt3_175b_64, "gpt3/gpt3-175b-64xa100.json")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
// The batch that GPT-3 was trained with.
BENCHMARK_CAPTURE(search_all, gpt3_175b_64_batch_1536, "gpt3/gpt3-175b-64xa100.json", 1536)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_all, llama_8b_16, "llama/llama-3.1-8b-16xh100-hybrid.json")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// Plan, simulation and memory of the best ten, one after the other.
void evaluate_best(benchmark::State& state, const char* name, std::int64_t global_batch = 0) {
  const Scenario s = scenario(name, global_batch);
  const CostModel costs = costs_of(s);
  const SearchResult found = search_everything(s, costs, 1);
  std::size_t next = 0;
  for (auto _ : state) {
    const Layout& layout = found.best[next++ % found.best.size()].layout;
    benchmark::DoNotOptimize(evaluate(s, costs, layout, std::numeric_limits<SimTime>::max()));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(evaluate_best, llama_405b_16384, "llama/llama-3.1-405b-16384xh100.json")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluate_best, gpt3_175b_64, "gpt3/gpt3-175b-64xa100.json")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluate_best, gpt3_175b_64_batch_1536, "gpt3/gpt3-175b-64xa100.json", 1536)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluate_best, llama_8b_16, "llama/llama-3.1-8b-16xh100-hybrid.json")
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace plait
