// Routes on 16,384 devices: what the flow network asks for before it shares links out.
#include <benchmark/benchmark.h>

#include "topologies/catalogue.h"
#include "topologies/network.h"

namespace plait {
namespace {

const ClusterSpec kMachine = {.preset = "hgx-h100", .nodes = 2048};

void BM_MakeNetwork(benchmark::State& state) {
  const Cluster cluster = make_cluster(kMachine);
  for (auto _ : state) benchmark::DoNotOptimize(make_network(cluster));
}
BENCHMARK(BM_MakeNetwork)->Unit(benchmark::kMillisecond);

void BM_Route(benchmark::State& state) {
  const Cluster cluster = make_cluster(kMachine);
  const auto network = make_network(cluster);
  std::vector<LinkId> links;
  std::int64_t i = 0;
  for (auto _ : state) {
    links.clear();
    network->route(i * 7919 % cluster.world_size(), i * 104729 % cluster.world_size(), 0, links);
    benchmark::DoNotOptimize(links.data());
    ++i;
  }
}
BENCHMARK(BM_Route);

}  // namespace
}  // namespace plait
