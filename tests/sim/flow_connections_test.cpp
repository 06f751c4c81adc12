// Who sends to whom over nodes of which the group has different numbers of devices.

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "costmodel/deepep.h"
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
         connections_of({algorithm, CollectiveKind::kAllGather}, {}, devices, cluster)) {
      sent[c.from] += c.share;
      if (c.from < 6 && c.to >= 6) entering[c.to] += c.share;
    }
    ASSERT_EQ(entering.size(), 3U);
    for (const auto& [device, share] : entering) EXPECT_NEAR(share, wire / 3, 1e-9);
    ASSERT_EQ(sent.size(), 9U);
    for (const auto& [device, share] : sent) EXPECT_NEAR(share, wire, 1e-9);
  }
}

// A member of a mesh has as many links as there are others, and rings that use all of them.
TEST(FlowConnections, RingsUseAllDirectLinks) {
  const Cluster mesh = make_cluster({.preset = "mi300x-8"});
  std::vector<std::int64_t> devices(8);
  std::iota(devices.begin(), devices.end(), 0);
  const auto connections =
      connections_of({Algorithm::kRing, CollectiveKind::kAllGather}, {}, devices, mesh);
  EXPECT_EQ(connections.size(), 56U);
  for (const Connection& c : connections) EXPECT_NEAR(c.share, 7.0 / 8 / 7, 1e-9);
  // Six NVLinks each to four others, and none to the other three.
  const Cluster cube = make_cluster({.preset = "dgx-v100"});
  std::map<std::int64_t, double> sent, partners;
  for (const Connection& c :
       connections_of({Algorithm::kTree, CollectiveKind::kAllReduce}, {}, devices, cube)) {
    EXPECT_EQ(route(cube, c.from, c.to).hops, 1);
    sent[c.from] += c.share, ++partners[c.from];
  }
  for (const std::int64_t device : devices) EXPECT_EQ(partners[device], 4);
}

// Of 16 ranks with 64 experts, of which each token chooses 8: four of its eight rows leave the
// node, and by DeepEP one, almost surely.
TEST(FlowConnections, DeepEpSendsATokenToANodeOnce) {
  const Cluster cluster = make_cluster({.preset = "hgx-h100", .nodes = 2});
  std::vector<std::int64_t> devices(16);
  std::iota(devices.begin(), devices.end(), 0);
  const auto leaving = [&](Algorithm algorithm) {
    double sum = 0;
    const WayOfSending how = {algorithm, CollectiveKind::kAllToAll, {.chosen = 8, .experts = 64}};
    for (const Connection& c : connections_of(how, {}, devices, cluster))
      sum += c.from == 3 && c.to >= 8 ? c.share : 0;
    return sum;
  };
  EXPECT_NEAR(leaving(Algorithm::kRing), 8.0 / 16, 1e-9);
  EXPECT_NEAR(leaving(Algorithm::kDeepEp), groups_met(2, 64, 8) / 8 / 2, 1e-9);
  EXPECT_NEAR(leaving(Algorithm::kDeepEp), 1.0 / 8, 0.001);
}

// And over NVLink to each rank that has one of its experts, its own included.
TEST(FlowConnections, DeepEpGivesEachRankItsTokensOnce) {
  const Cluster cluster = make_cluster({.preset = "hgx-h100", .nodes = 2});
  std::vector<std::int64_t> devices(16);
  std::iota(devices.begin(), devices.end(), 0);
  double received = 0;
  const WayOfSending how = {
      Algorithm::kDeepEp, CollectiveKind::kAllToAll, {.chosen = 8, .experts = 64}};
  for (const Connection& c : connections_of(how, {}, devices, cluster))
    received += c.to == 3 && c.from < 8 ? c.share : 0;
  // From 14 of 16 ranks by way of another device: what both ranks of its own place send comes to
  // it.
  EXPECT_NEAR(received, 14 * groups_met(16, 64, 8) / 16 / 8, 1e-9);
}

}  // namespace plait::flow_connections_test
