// Who sends to whom over nodes of which the group has different numbers of devices.

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "sim/flow/connections.h"
#include "topologies/catalogue.h"

namespace plait::flow_connections_test {

// 6 devices of one node and 3 of the next.
TEST(FlowConnections, RingsOverUnevenNodesUseAllNicsOfTheEmptiest) {
  const Cluster cluster = make_cluster({.preset = "hgx-h100", .nodes = 2, .devices_per_node = 6});
  std::vector<std::int64_t> devices(9);
  std::iota(devices.begin(), devices.end(), 0);
  const double wire = 8.0 / 9;  // of what is gathered
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kTree}) {
    std::map<std::int64_t, double> entering, sent;
    for (const Connection& c :
         connections_of(algorithm, CollectiveKind::kAllGather, {}, devices, cluster)) {
      sent[c.from] += c.share;
      if (c.from < 6 && c.to >= 6) entering[c.to] += c.share;
    }
    ASSERT_EQ(entering.size(), 3U);
    for (const auto& [device, share] : entering) EXPECT_NEAR(share, wire / 3, 1e-9);
    ASSERT_EQ(sent.size(), 9U);
    for (const auto& [device, share] : sent) EXPECT_NEAR(share, wire, 1e-9);
  }
}

}  // namespace plait::flow_connections_test
