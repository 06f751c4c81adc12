// Messages between pipeline stages, with w devices in a stage.

#include <gtest/gtest.h>

#include <vector>

#include "topologies/catalogue.h"

namespace plait::peers_test {

/// From device 0 of stage s to that of the next, and back; both are equally wide.
PeerPath message(const Cluster& c, std::int64_t width, std::int64_t stage = 0) {
  std::vector<std::int64_t> pipeline;
  for (std::int64_t d = 0; d < c.world_size(); d += width) pipeline.push_back(d);
  const std::int64_t from = stage * width, to = from + width;
  const PeerPath there = route_to_peer(c, from, to, pipeline, width);
  const PeerPath back = route_to_peer(c, to, from, pipeline, width);
  EXPECT_DOUBLE_EQ(there.all.bandwidth.value, back.all.bandwidth.value);
  return there;
}

TEST(Peers, DivideTheNicThatServesThem) {
  // Two devices of each NIC send, or one where a stage is a single device.
  const Cluster c = make_cluster({.preset = "dgx-v100", .nodes = 2});
  EXPECT_DOUBLE_EQ(message(c, 8).all.bandwidth.value, 12.5e9 / 2);
  EXPECT_DOUBLE_EQ(message(c, 8).alone.bandwidth.value, 12.5e9);
  std::vector<std::int64_t> pipeline(16);
  for (std::int64_t d = 0; d < 16; ++d) pipeline[static_cast<std::size_t>(d)] = d;
  EXPECT_DOUBLE_EQ(route_to_peer(c, 7, 8, pipeline, 1).all.bandwidth.value, 12.5e9);
}

TEST(Peers, DivideTheTrunksThatLeaveTheirPod) {
  // Pods of 4 nodes, leafs 8 : 1, which leaves half a port up for 4. Of a stage of 4 nodes all send
  // out of their pod, of stages of one node the pod's last one does, and within a pod nothing is
  // shared.
  const Cluster c =
      make_cluster({.preset = "hgx-h100", .nodes = 8, .nodes_per_pod = 4, .oversubscription = 8});
  const double nic = c.nic_bandwidth.value;
  EXPECT_DOUBLE_EQ(message(c, 32).all.bandwidth.value, nic / 8);
  EXPECT_DOUBLE_EQ(message(c, 8, 3).all.bandwidth.value, nic * 4 / 8);
  EXPECT_DOUBLE_EQ(message(c, 8, 2).all.bandwidth.value, nic);
  EXPECT_DOUBLE_EQ(message(c, 32).alone.bandwidth.value, nic / 2);
}

TEST(Peers, OfAPodWithFewNodesDivideItsTrunksAmongThese) {
  // Of the last pod's 4 nodes 2 are there, and one of them sends out: as of the first pod.
  const Cluster c =
      make_cluster({.preset = "hgx-h100", .nodes = 6, .nodes_per_pod = 4, .oversubscription = 8});
  EXPECT_DOUBLE_EQ(message(c, 8, 3).all.bandwidth.value, c.nic_bandwidth.value * 4 / 8);
}

TEST(Peers, DivideTheLinkBetweenTheirSockets) {
  // Devices 0-3 and 4-7 are on a socket each. Stages of four: all cross. Stages of two: the second
  // sends to the third.
  const Cluster c = make_cluster({.preset = "pcie-8"});
  const BytesPerSecond link = find_node("pcie-8").socket_bandwidth / kPcieShare;
  EXPECT_EQ(message(c, 4).all.bandwidth, link / 4);
  EXPECT_EQ(message(c, 2, 1).all.bandwidth, link / 2);
  EXPECT_EQ(message(c, 2, 0).all.bandwidth, find_device("l40s").pcie_bandwidth);
}

}  // namespace plait::peers_test
