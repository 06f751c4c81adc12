#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

#include "costmodel/nccl_tuning.h"
#include "plan/collectives/traffic.h"
#include "tests/costmodel/devices.h"

namespace plait::collectives_test {

using enum CollectiveKind;

constexpr CollectiveKind kAll[] = {kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast};

/// nccl-tests: bus bandwidth of an all_reduce is 2 (n-1)/n S / t, of the others (n-1)/n S / t.
double busbw(CollectiveKind kind, std::int64_t bytes, const GroupPlacement& g, const Device& d) {
  const auto n = static_cast<double>(g.ranks);
  const double wire = (kind == kAllReduce ? 2 : 1) * (n - 1) / n * static_cast<double>(bytes);
  return wire / cost_of(kind, bytes, g, d).cost.total().value / 1e9;
}

TEST(Collectives, AGroupOfOneAndAnEmptyBufferCostNothing) {
  for (CollectiveKind kind : kAll) {
    EXPECT_EQ(cost_of(kind, kGiB, island(h100(), 1), h100()).cost.total(), Seconds());
    EXPECT_EQ(cost_of(kind, 0, island(h100(), 8), h100()).cost.total(), Seconds());
    EXPECT_EQ(cost_of(kind, 0, islands(cpu(), 2, 2), cpu()).cost.total(), Seconds());
  }
}

// A ring sends 2 (n-1)/n S per member: each doubling of a large S adds that over the ring's rate,
// NCCL's 48 GB/s of a 400 Gbit/s NIC, with one member per island so that nothing else matters.
TEST(Collectives, ALargeRingIsBoundByWhatEachMemberSends) {
  const GroupPlacement g = islands(a100(), 4, 1);
  const std::int64_t s = 8 * kGiB;
  const CollectiveCost small = cost_of(kAllReduce, s, g, a100());
  const CollectiveCost large = cost_of(kAllReduce, 2 * s, g, a100());
  ASSERT_EQ(large.algorithm, Algorithm::kRing);
  const double expected = 2 * 3.0 / 4 * static_cast<double>(s) / (0.96 * 50e9);
  EXPECT_NEAR((large.cost.total() - small.cost.total()).value, expected, 1e-6 * expected);
}

// NCCL's tree, LL over the network: 6.8 us and 2 log2(nodes) hops of 5 us.
TEST(Collectives, ASmallTreeTakesTwoHopsPerLevel) {
  for (std::int64_t nodes : {8, 64}) {
    const CollectiveCost c = cost_of(kAllReduce, 8, islands(h100(), nodes, 1), h100());
    ASSERT_EQ(c.algorithm, Algorithm::kTree);
    const double levels = std::log2(static_cast<double>(nodes));
    EXPECT_NEAR(c.cost.total().value, (6.8 + 2 * levels * 5) * 1e-6, 1e-8);
  }
}

// Sizes where measured times jump, and where logs of NCCL show the switch (nccl-tests #309).
struct Switch {
  Device device;
  CollectiveKind kind;
  std::int64_t ranks, bytes;
  Algorithm algorithm;
  Protocol protocol;
};
TEST(NcclChoice, SwitchesWhereMeasurementsJump) {
  const Switch table[] = {
      {h100(), kAllReduce, 8, 2 * kMiB, Algorithm::kNvls, Protocol::kSimple},
      {h100(), kAllReduce, 4, 4 * kMiB, Algorithm::kRing, Protocol::kLl128},
      {h100(), kAllReduce, 2, 2 * kMiB, Algorithm::kRing, Protocol::kSimple},
      {h100(), kAllGather, 4, 4 * kMiB, Algorithm::kRing, Protocol::kSimple},
      {h100(), kReduceScatter, 4, 4 * kMiB, Algorithm::kRing, Protocol::kSimple},
      {h100(), kAllGather, 8, 32 * kMiB, Algorithm::kRing, Protocol::kSimple},
      {a100(), kAllReduce, 2, 1 * kMiB, Algorithm::kRing, Protocol::kSimple},
      {a100(), kAllGather, 2, 2 * kMiB, Algorithm::kRing, Protocol::kSimple},
      {a100(), kAllGather, 4, 2 * kMiB, Algorithm::kRing, Protocol::kSimple},
      {a100(), kAllGather, 8, 16 * kMiB, Algorithm::kRing, Protocol::kSimple},
      {b200(), kAllReduce, 2, 4 * kMiB, Algorithm::kRing, Protocol::kSimple},
      {b200(), kAllReduce, 4, 8 * kMiB, Algorithm::kRing, Protocol::kLl128},
      {b200(), kAllGather, 4, 8 * kMiB, Algorithm::kRing, Protocol::kSimple},
      {b200(), kReduceScatter, 8, 16 * kMiB, Algorithm::kRing, Protocol::kLl128},
  };
  for (const Switch& s : table) {
    const GroupPlacement g = island(s.device, s.ranks);
    const CollectiveCost below = cost_of(s.kind, s.bytes / 2, g, s.device);
    const CollectiveCost at = cost_of(s.kind, s.bytes, g, s.device);
    const std::string where = s.device.name + " " + std::string(name_of(s.kind)) +
                              " n=" + std::to_string(s.ranks) + " at " + std::to_string(s.bytes);
    EXPECT_EQ(at.algorithm, s.algorithm) << where;
    EXPECT_EQ(at.protocol, s.protocol) << where;
    EXPECT_TRUE(below.algorithm != at.algorithm || below.protocol != at.protocol) << where;
  }
}

// With 4 GPUs NVLS reaches 306 GB/s of bus bandwidth by NCCL's formula, a ring 360; from 5 on NVLS
// wins (ml-engineering's sweep).
TEST(NcclChoice, NvlsNeedsFiveHoppers) {
  EXPECT_EQ(cost_of(kAllReduce, kGiB, island(h100(), 4), h100()).algorithm, Algorithm::kRing);
  for (std::int64_t n : {5, 6, 7, 8})
    EXPECT_EQ(cost_of(kAllReduce, kGiB, island(h100(), n), h100()).algorithm, Algorithm::kNvls);
}

// NCCL's rings in 8-GPU NVSwitch boxes: 12 x 20, 12 x 30, 16 x 45 GB/s; 8 x 48 over eight NICs. Of
// the 165 GB/s of H800's links it takes 4 x 40, as 8 x 20, and not 27 x 6.
TEST(NcclChoice, FindsTheRingsThatNcclFinds) {
  const auto rings = [](const Device& d, const GroupPlacement& g) {
    return ring_channels(nccl_group(kAllReduce, g, cluster_of(d)), Speeds::kLadder);
  };
  const auto expect = [](Channels c, int count, double speed) {
    EXPECT_EQ(c.count, count);
    EXPECT_DOUBLE_EQ(c.speed, speed * 1e9);
  };
  expect(rings(a100(), island(a100(), 8)), 12, 20);
  expect(rings(h100(), island(h100(), 8)), 12, 30);
  expect(rings(b200(), island(b200(), 8)), 16, 45);
  GroupPlacement h800 = island(h100(), 8);
  h800.intra.bandwidth = BytesPerSecond(200e9);
  expect(rings(h100(), h800), 8, 20);
  expect(rings(h100(), islands(h100(), 4, 8)), 8, 48);
  EXPECT_EQ(communicator_channels(nccl_group(kAllReduce, island(h100(), 8), cluster_of(h100()))),
            24);
  EXPECT_EQ(communicator_channels(nccl_group(kAllReduce, island(b200(), 8), cluster_of(b200()))),
            32);
}

// Peaks of nccl-tests at 8-16 GB: A100 232-235, H100 NVLS 473-482 and ring 363-370, B200 838-850.
TEST(Collectives, ReachTheMeasuredBusBandwidth) {
  const std::int64_t s = 16 * kGiB;
  EXPECT_NEAR(busbw(kAllReduce, s, island(a100(), 8), a100()), 233, 0.03 * 233);
  EXPECT_NEAR(busbw(kAllReduce, s, island(h100(), 8), h100()), 476, 0.03 * 476);
  EXPECT_NEAR(busbw(kAllReduce, s, island(h100(), 4), h100()), 363, 0.03 * 363);
  EXPECT_NEAR(busbw(kAllGather, s, island(h100(), 8), h100()), 362, 0.05 * 362);
  EXPECT_NEAR(busbw(kAllReduce, s, island(b200(), 8), b200()), 844, 0.03 * 844);
}

// Small all-reduces of 8 GPUs: H100 15.6 us, A100 21.3, B200 25.1.
TEST(Collectives, SmallMessagesTakeTheMeasuredLatency) {
  const auto us = [](const Device& d) {
    return cost_of(kAllReduce, 1024, island(d, 8), d).cost.total().value * 1e6;
  };
  EXPECT_NEAR(us(h100()), 15.6, 0.1 * 15.6);
  EXPECT_NEAR(us(a100()), 21.3, 0.1 * 21.3);
  EXPECT_NEAR(us(b200()), 25.1, 0.1 * 25.1);
}

// 64 H100 with 400 Gbit/s NICs: 370-387 GB/s at large sizes (CoreWeave, nccl-tests #309).
TEST(Collectives, ReachTheMeasuredBusBandwidthBetweenIslands) {
  const double measured = 378;
  EXPECT_NEAR(busbw(kAllReduce, 16 * kGiB, islands(h100(), 8, 8), h100()), measured,
              0.06 * measured);
}

// A rail of single members per island shares nothing: n/(n-1) of the NIC's 48 GB/s at most.
TEST(Collectives, AllGatherOverOneNicEach) {
  const double bus = busbw(kAllGather, 8 * kGiB, islands(h100(), 16, 1), h100());
  EXPECT_LE(bus, 48.0);
  EXPECT_GT(bus, 0.95 * 48);
}

// nccl-tests #130: between N nodes the limit is N/(N-1) times the NIC's rate.
TEST(Collectives, AllToAllBetweenIslandsIsBoundByTheNetwork) {
  const GroupPlacement g = islands(h100(), 4, 8);
  const CollectiveCost c = cost_of(kAllToAll, 4 * kGiB, g, h100());
  EXPECT_EQ(c.algorithm, Algorithm::kPairwise);
  const double outside = 24.0 / 32 * 4 * kGiB / (0.96 * 50e9);
  EXPECT_NEAR(c.cost.share[bandwidth_of(LinkClass::kInfiniband)].value, outside, 1e-9 * outside);
}

// Each of N islands has a partial sum of S: whatever the algorithm, 2 (N-1)/N S leave it over the
// NICs of its r members.
TEST(Collectives, AllReducesTakeWhatTheNicsOfAnIslandNeed) {
  for (const std::int64_t nodes : {2, 3, 4}) {
    for (const std::int64_t members : {1, 2, 4, 8}) {
      const GroupPlacement g = islands(b200(), nodes, members);
      const auto n = static_cast<double>(nodes);
      const double least =
          2 * (n - 1) / n * kGiB / (static_cast<double>(members) * g.inter.bandwidth.value);
      for (const Selection s : {Selection::kNccl, Selection::kFastest})
        EXPECT_GE(cost_of(kAllReduce, kGiB, g, b200(), s).cost.total().value, least);
    }
  }
}

// A ring over two boxes passes each member's PCIe link as often as a ring in one does, and what
// leaves by the NIC passes it too: bus bandwidth is at most that of one box.
TEST(Collectives, TwoPcieBoxesAreNoFasterThanOne) {
  const Path pcie = {LinkClass::kPcie, BytesPerSecond(10e9), Seconds(0.8e-6), 3};
  GroupPlacement one = island(a100(), 8), two = islands(a100(), 2, 8);
  one.intra = two.intra = one.intra_exchange = two.intra_exchange = pcie;
  for (const CollectiveKind kind : {kAllReduce, kAllGather, kReduceScatter})
    EXPECT_LE(busbw(kind, 4 * kGiB, two, a100()), busbw(kind, 4 * kGiB, one, a100()));
}

TEST(Collectives, EthernetAsNearAndWideAsInfinibandIsAsFast) {
  for (const CollectiveKind kind : kAll) {
    for (const std::int64_t bytes : {std::int64_t{1024}, kMiB, kGiB}) {
      GroupPlacement infiniband = islands(h100(), 4, 8), ethernet = infiniband;
      ethernet.inter.link = LinkClass::kEthernet;
      EXPECT_EQ(cost_of(kind, bytes, infiniband, h100()).cost.total(),
                cost_of(kind, bytes, ethernet, h100()).cost.total());
      ethernet.inter.latency *= 1.6;
      EXPECT_LE(cost_of(kind, bytes, infiniband, h100()).cost.total(),
                cost_of(kind, bytes, ethernet, h100()).cost.total());
    }
  }
}

TEST(Collectives, PcieGroupsSpendTheirTimeOnPcie) {
  GroupPlacement g = island(a100(), 8);
  g.intra = g.intra_exchange = {LinkClass::kPcie, BytesPerSecond(31.5e9), Seconds(0.8e-6), 3};
  const CollectiveCost c = cost_of(kAllReduce, kGiB, g, a100());
  const double ring = 2 * 7.0 / 8 * kGiB / 24e9;  // NCCL counts 24 GB/s of a 4.0 x16 port
  EXPECT_NEAR(c.cost.share[bandwidth_of(LinkClass::kPcie)].value, ring, 1e-9 * ring);
  EXPECT_EQ(c.cost.share[bandwidth_of(LinkClass::kNvlink)], Seconds());
}

// Eight rings cross the PCIe links of each member, whose eighth is less than a NIC's 50 GB/s: what
// bounds them is PCIe, and a faster NIC saves nothing. Where each member has an island to itself it
// is the other way round.
TEST(Collectives, RingsOverIslandsSpendTheirTimeOnWhatBoundsThem) {
  for (const CollectiveKind kind : {kAllReduce, kAllGather, kReduceScatter}) {
    for (const std::int64_t members : {8, 1}) {
      GroupPlacement g = islands(a100(), 4, members);
      g.intra = g.intra_exchange = {LinkClass::kPcie, BytesPerSecond(31.5e9), Seconds(0.8e-6), 3};
      const auto bytes_take = [&] { return cost_of(kind, kGiB, g, a100()).cost; };
      const Cost cost = bytes_take();
      const Resource bound = bandwidth_of(members > 1 ? LinkClass::kPcie : LinkClass::kInfiniband);
      const Resource other = bandwidth_of(members > 1 ? LinkClass::kInfiniband : LinkClass::kPcie);
      EXPECT_EQ(cost.share[other], Seconds());
      (members > 1 ? g.inter : g.intra).bandwidth *= 1.001;
      EXPECT_EQ(bytes_take().total(), cost.total());
      (members > 1 ? g.intra : g.inter).bandwidth *= 1.001;
      const double saved = cost.share[bound].value * (1 - 1 / 1.001);
      EXPECT_NEAR((cost.total() - bytes_take().total()).value, saved, 1e-6 * saved);
    }
  }
}

// 6 GPUs of one node and 3 of another: 8/9 of what is gathered enters the second node, and leaves
// it in rings, through three NICs.
TEST(Collectives, UnevenIslandsAreBoundByTheEmptiest) {
  GroupPlacement g = islands(h100(), 2, 6);
  g.ranks = 9, g.fewest_per_node = 3;
  const double wire = 8.0 / 9 * static_cast<double>(kGiB), nics = 3 * 50e9;
  EXPECT_GT(cost_of(kAllGather, kGiB, g, h100()).cost.total().value, wire / nics);
  // Added up within the nodes, by their switches.
  EXPECT_GT(cost_of(kAllReduce, kGiB, g, h100()).cost.total().value,
            static_cast<double>(kGiB) / nics);
  // One alone sends all but its own share through its NIC.
  g.ranks = 7, g.fewest_per_node = 1;
  EXPECT_GT(cost_of(kAllToAll, kGiB, g, h100()).cost.total().value,
            6.0 / 7 * static_cast<double>(kGiB) / 50e9);
}

TEST(Collectives, ProcessorsUseMessages) {
  const GroupPlacement g = islands(cpu(), 4, 1);
  const CollectiveCost small = cost_of(kAllReduce, 8, g, cpu());
  EXPECT_EQ(small.algorithm, Algorithm::kRecursiveDoubling);  // 2 rounds instead of 6
  EXPECT_NEAR(small.cost.total().value, 2 * (1e-6 + 2.5e-6), 1e-8);
  EXPECT_EQ(cost_of(kAllReduce, kGiB, g, cpu()).algorithm, Algorithm::kRing);
}

// What a real run executes: its pattern, and as many rounds of as many bytes. In recursive doubling
// of no power of two, the rounds of a member that takes part for two are one more than it sends in.
TEST(Collectives, ProcessorsTakeTheRoundsThatARealRunExecutes) {
  for (const CollectiveKind kind : kAll) {
    for (std::int64_t n = 2; n <= 17; ++n) {
      for (const std::int64_t bytes : {n * 64, n * 1'000'000}) {
        const GroupPlacement g = islands(cpu(), n, 1);
        const CollectiveCost cost = cost_of(kind, bytes, g, cpu());
        const Pattern pattern = pattern_of(kind, n, Bytes(bytes));
        EXPECT_EQ(name_of(cost.algorithm), name_of(pattern));
        const Effort effort = effort_of({pattern}, kind, n, Bytes(bytes));
        const double started = cost.cost.share[latency_of(g.inter.link)].value,
                     sent = cost.cost.share[bandwidth_of(g.inter.link)].value *
                            g.inter.bandwidth.value * 0.8;
        const bool direct = pattern == Pattern::kDirect;  // one round of n - 1 messages
        EXPECT_NEAR(started / (1e-6 + g.inter.latency.value),
                    static_cast<double>(direct ? n - 1 : effort.rounds), 1e-6);
        const bool folded =
            pattern == Pattern::kRecursiveDoubling && !std::has_single_bit(std::uint64_t(n));
        const double most = static_cast<double>(std::max(effort.sent, effort.received).value);
        EXPECT_NEAR(sent, most + (folded ? static_cast<double>(bytes) : 0),
                    1e-6 * most + 2 * static_cast<double>(n));
      }
    }
  }
}

struct Case {
  CollectiveKind kind;
  Device device;
  GroupPlacement group;
  std::int64_t bytes;
};
Case any_case() {
  Case c;
  c.kind = kAll[static_cast<std::size_t>(*rc::gen::inRange(0, 5))];
  c.device = *rc::gen::element(a100(), h100(), b200(), cpu());
  const auto per_node = *rc::gen::element<std::int64_t>(1, 2, 4, 8);
  const auto nodes = *rc::gen::element<std::int64_t>(1, 2, 3, 16, 100);
  c.group = islands(c.device, nodes, per_node);
  c.bytes = *rc::gen::inRange<std::int64_t>(1, 1 << 16) << *rc::gen::inRange(0, 18);
  return c;
}
void faster_links(GroupPlacement& g, double factor) {
  g.intra.bandwidth *= factor;
  g.inter.bandwidth *= factor;
}

RC_GTEST_PROP(Collectives, MoreBytesNeverTakeLessWithinAChoice, ()) {
  const Case c = any_case();
  const CollectiveCost less = cost_of(c.kind, c.bytes, c.group, c.device);
  const CollectiveCost more =
      cost_of(c.kind, c.bytes + *rc::gen::inRange<std::int64_t>(0, 1 << 26), c.group, c.device);
  RC_PRE(less.algorithm == more.algorithm && less.protocol == more.protocol);
  RC_ASSERT(less.cost.total() <= more.cost.total());
}
RC_GTEST_PROP(Collectives, FasterLinksAreNeverSlowerWithinAChoice, ()) {
  const Case c = any_case();
  GroupPlacement fast = c.group;
  faster_links(fast, 1 + *rc::gen::inRange(0, 100) / 50.0);
  const CollectiveCost base = cost_of(c.kind, c.bytes, c.group, c.device);
  const CollectiveCost better = cost_of(c.kind, c.bytes, fast, c.device);
  RC_PRE(base.algorithm == better.algorithm && base.protocol == better.protocol);
  RC_ASSERT(better.cost.total().value <= base.cost.total().value * (1 + 1e-12));
}
RC_GTEST_PROP(Collectives, APerfectTunerIsMonotoneAndNeverSlowerThanNccl, ()) {
  const Case c = any_case();
  GroupPlacement fast = c.group;
  faster_links(fast, 1 + *rc::gen::inRange(0, 100) / 50.0);
  const Seconds tuned =
      cost_of(c.kind, c.bytes, c.group, c.device, Selection::kFastest).cost.total();
  const Seconds faster = cost_of(c.kind, c.bytes, fast, c.device, Selection::kFastest).cost.total();
  const Seconds more =
      cost_of(c.kind, c.bytes * 2, c.group, c.device, Selection::kFastest).cost.total();
  RC_ASSERT(tuned <= cost_of(c.kind, c.bytes, c.group, c.device).cost.total());
  RC_ASSERT(faster.value <= tuned.value * (1 + 1e-12));
  RC_ASSERT(tuned <= more);
}
RC_GTEST_PROP(Collectives, SharesAreNonNegativeAndOfLinksOnTheWay, ()) {
  const Case c = any_case();
  const Cost cost = cost_of(c.kind, c.bytes, c.group, c.device).cost;
  for (Seconds s : cost.share) RC_ASSERT(s.value >= 0);
  RC_ASSERT(cost.share[kPeakFlops].value == 0);
  if (c.group.nodes == 1) RC_ASSERT(cost.share[bandwidth_of(LinkClass::kInfiniband)].value == 0);
  if (c.group.ranks > 1) RC_ASSERT(cost.band > 0);
}

}  // namespace plait::collectives_test
