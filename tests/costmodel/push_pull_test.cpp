// Push and pull of parameter servers against max(M / B, w M / (k B)) (Jiang et al. 2020, section
// 3.1) and against a ring.
#include <gtest/gtest.h>

#include "costmodel/costmodel.h"
#include "topologies/catalogue.h"

namespace plait::push_pull_test {

constexpr std::int64_t kBytes = 1'000'000'000;
const CostModel kPricing;

/// Nodes of one device each.
Cluster nodes(std::int64_t n) {
  ClusterSpec spec;
  spec.preset = "dgx-v100", spec.fabric = "roce100";
  spec.nodes = n, spec.devices_per_node = 1;
  return make_cluster(spec);
}

double seconds(const Servers& servers, const Cluster& cluster) {
  std::vector<std::int64_t> devices;
  for (std::int64_t d = 0; d < cluster.world_size(); ++d) devices.push_back(d);
  Collective c;
  c.kind = CollectiveKind::kPush, c.axes = Axis::kDp, c.dtype = DType::kFp32;
  c.elements = kBytes / 4, c.servers = servers;
  return kPricing.collective(c, place_group(cluster, devices), cluster).cost.total().value;
}
/// Of one message of so many bytes between two nodes.
double message(double bytes, const Cluster& cluster) {
  return kPricing.transfer(Bytes(static_cast<std::int64_t>(bytes)), route(cluster, 0, 1))
      .total()
      .value;
}

TEST(Push, IsBoundByTheServersWhereTheyAreFewerThanWorkers) {
  for (const std::int64_t k : {1, 2, 4}) {
    const Cluster cluster = nodes(8 + k);
    const double expected = message(8.0 / static_cast<double>(k) * kBytes, cluster);
    EXPECT_NEAR(seconds({k, true}, cluster) / expected, 1, 1e-6) << k;
  }
}

TEST(Push, IsBoundByAWorkersLinkWhereServersAreAsManyAsWorkers) {
  const Cluster cluster = nodes(16);
  EXPECT_NEAR(seconds({8, true}, cluster) / message(kBytes, cluster), 1, 1e-6);
}

TEST(Push, ColocatedEverywhereMovesWhatHalfARingDoes) {
  const Cluster cluster = nodes(8);
  EXPECT_NEAR(seconds({8, false}, cluster) / message(7.0 / 8 * kBytes, cluster), 1, 1e-6);
}

TEST(Push, MoreServersAreNeverSlower) {
  const Cluster cluster = nodes(16);
  for (std::int64_t k = 1; k < 16; ++k) {
    EXPECT_LE(seconds({k + 1, false}, cluster), seconds({k, false}, cluster)) << k;
  }
}

}  // namespace plait::push_pull_test
