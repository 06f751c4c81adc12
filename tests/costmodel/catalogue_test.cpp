// The cost model on the machines of the catalogue: the constants hold for the latencies and launch
// overheads written there.

#include "topologies/catalogue.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/costmodel/devices.h"

namespace plait::catalogue_test {

Cluster machine(const char* preset, std::int64_t nodes) {
  ClusterSpec spec;
  spec.preset = preset;
  spec.nodes = nodes;
  return make_cluster(spec);
}
GroupPlacement first(const Cluster& cluster, std::int64_t n) {
  std::vector<std::int64_t> devices(static_cast<std::size_t>(n));
  std::iota(devices.begin(), devices.end(), 0);
  return place_group(cluster, devices);
}

// Small all-reduces of 8 GPUs, measured: H100 15.6 us, A100 21.3, B200 25.1.
TEST(Catalogue, SmallAllReducesTakeTheMeasuredTime) {
  const auto us = [](const char* preset) {
    const Cluster cluster = machine(preset, 1);
    const Collective op = collective(CollectiveKind::kAllReduce, 1024);
    return CostModel{}.collective(op, first(cluster, 8), cluster).cost.total().value * 1e6;
  };
  EXPECT_NEAR(us("hgx-h100"), 15.6, 1.6);
  EXPECT_NEAR(us("dgx-a100"), 21.3, 2.2);
  EXPECT_NEAR(us("hgx-b200"), 25.1, 2.6);
}

// Peaks of bus bandwidth: H100 8 GPUs 476 GB/s, 64 GPUs over 400 Gbit/s InfiniBand 370-387.
TEST(Catalogue, LargeAllReducesReachTheMeasuredBusBandwidth) {
  const Cluster cluster = machine("hgx-h100", 8);
  const auto busbw = [&](std::int64_t n) {
    const Collective op = collective(CollectiveKind::kAllReduce, 16 * kGiB);
    const Seconds t = CostModel{}.collective(op, first(cluster, n), cluster).cost.total();
    const auto ranks = static_cast<double>(n);
    return 2 * (ranks - 1) / ranks * 16 * kGiB / t.value / 1e9;
  };
  EXPECT_NEAR(busbw(8), 476, 0.03 * 476);
  EXPECT_NEAR(busbw(64), 378, 0.06 * 378);
}

TEST(Catalogue, EveryMachineHasACostForEverything) {
  for (const std::string& name : cluster_names()) {
    const Cluster cluster = machine(name.c_str(), find_node(name).nics > 0 ? 2 : 1);
    const std::int64_t n = cluster.world_size();
    for (CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                CollectiveKind::kAllToAll, CollectiveKind::kBroadcast}) {
      const Cost cost =
          CostModel{}.collective(collective(kind, kMiB), first(cluster, n), cluster).cost;
      EXPECT_GT(cost.total().value, 0) << name;
      EXPECT_LT(cost.total().value, 1) << name;
    }
    MatMul product;
    product.m = product.n = product.k = 1024;
    EXPECT_GT(CostModel{}.compute(product, cluster.device).total().value, 0) << name;
    EXPECT_GT(CostModel{}.transfer(Bytes(1), route(cluster, 0, n - 1)).total().value, 0) << name;
    Copy copy;
    copy.bytes = Bytes(kMiB);
    const Seconds copied = CostModel{}.copy(copy, cluster).total();
    EXPECT_TRUE(std::isfinite(copied.value)) << name;
  }
}

}  // namespace plait::catalogue_test
