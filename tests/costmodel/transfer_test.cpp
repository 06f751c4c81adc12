#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/costmodel/devices.h"
#include "topologies/catalogue.h"

namespace plait::transfer_test {

const CostModel kTransfers;

// Vidur's send/recv profiles: H100 NVLink 7.6 us + S / 361 GB/s, InfiniBand 18 us + S / 36 GB/s.
TEST(Transfer, MatchesTheMeasuredLines) {
  const auto seconds = [](std::int64_t bytes, const Path& path) {
    return kTransfers.transfer(Bytes(bytes), path).total().value;
  };
  EXPECT_NEAR(seconds(kGiB, nvlink(450e9)) / (7.6e-6 + kGiB / 361e9), 1, 0.005);
  EXPECT_NEAR(seconds(kGiB, infiniband(50e9)) / (18e-6 + kGiB / 36e9), 1, 0.005);
  EXPECT_NEAR(seconds(1, infiniband(50e9)), 18e-6, 1e-9);
}

TEST(Transfer, BetweenNodesItStartsAsTheFabricDoesEvenIfTheBusIsSlower) {
  Path on_a_slow_bus = infiniband(63e9);
  on_a_slow_bus.link = LinkClass::kPcie;
  on_a_slow_bus.beyond = LinkClass::kInfiniband;
  const Cost cost = kTransfers.transfer(Bytes(1), on_a_slow_bus);
  EXPECT_NEAR(cost.share[latency_of(LinkClass::kInfiniband)].value, 18e-6, 1e-9);
  EXPECT_GT(cost.share[bandwidth_of(LinkClass::kPcie)].value, 0);
}

TEST(Transfer, EthernetAsNearAndWideAsInfinibandIsAsFast) {
  Path ethernet = infiniband(50e9);
  ethernet.link = LinkClass::kEthernet;
  for (const std::int64_t bytes : {std::int64_t{1}, kGiB}) {
    EXPECT_EQ(kTransfers.transfer(Bytes(bytes), ethernet).total(),
              kTransfers.transfer(Bytes(bytes), infiniband(50e9)).total());
  }
}

TEST(Transfer, NoBytesCostNothing) {
  EXPECT_EQ(kTransfers.transfer(Bytes(0), nvlink(450e9)).total(), Seconds());
  EXPECT_EQ(kTransfers.copy(Copy{}, cluster_of(h100())).total(), Seconds());
}

TEST(Transfer, AHostCopyIsBoundByTheHostLink) {
  Copy copy;
  copy.bytes = Bytes(kGiB);
  const Cost cost = kTransfers.copy(copy, cluster_of(h100()));
  EXPECT_NEAR(cost.share[bandwidth_of(LinkClass::kPcie)].value, kGiB / (0.85 * 63e9), 1e-9);
}

// What a node says of its sockets is achieved already.
TEST(Transfer, BetweenSocketsAMessageGetsAllThatTheNodeSays) {
  constexpr double kRounded = 0.005;  // 0.76 for 24 / 31.5
  const Path path = route(make_cluster({.preset = "pcie-8"}), 3, 4);
  const Seconds more = kTransfers.transfer(Bytes(2 * kGiB), path).total() -
                       kTransfers.transfer(Bytes(kGiB), path).total();
  EXPECT_NEAR(Bytes(kGiB) / more / find_node("pcie-8").socket_bandwidth, 1, kRounded);
}

RC_GTEST_PROP(Transfer, MoreBytesAndSlowerLinksNeverTakeLess, ()) {
  const Bytes bytes(*rc::gen::inRange<std::int64_t>(1, 1 << 30));
  const Path path = infiniband(*rc::gen::inRange(1, 100) * 1e9);
  Path faster = path, nearer = path;
  faster.bandwidth *= 1.5;
  nearer.latency *= 0.5;
  const Seconds base = kTransfers.transfer(bytes, path).total();
  RC_ASSERT(base <= kTransfers.transfer(bytes * 2, path).total());
  RC_ASSERT(kTransfers.transfer(bytes, faster).total() <= base);
  RC_ASSERT(kTransfers.transfer(bytes, nearer).total() <= base);
}

}  // namespace plait::transfer_test
