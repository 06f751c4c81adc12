#include "topologies/cluster.h"

#include <gtest/gtest.h>

#include <numeric>

#include "topologies/catalogue.h"

namespace plait {
namespace {

TEST(HgxH100, PeersInANodeReachEachOtherAtTheFullNvlinkBandwidth) {
  const Cluster c = make_cluster({.preset = "hgx-h100"});
  const Path p = route(c, 0, 7);
  EXPECT_EQ(p.link, LinkClass::kNvlink);
  EXPECT_EQ(p.hops, 2);
  EXPECT_DOUBLE_EQ(p.bandwidth.value, 18 * 25e9);
  EXPECT_DOUBLE_EQ(p.latency.value, 2 * 468.125e-9);
}

}  // namespace
}  // namespace plait
