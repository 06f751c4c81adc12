// Collectives message by message, against closed forms.

#include "tests/sim/replay.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/sim/crossbar.h"

namespace plait::replay_test {

constexpr SimTime kMicrosecond = 1'000'000;
const BytesPerSecond kRate(10e9);
const Seconds kLatency(2e-6);

std::vector<std::int64_t> hosts(std::int64_t n) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

SimTime time_of(const Crossbar& net, std::int64_t n, Pattern pattern, CollectiveKind kind,
                Bytes bytes) {
  const std::vector<ReplayedCollective> one = {{hosts(n), {pattern}, kind, bytes}};
  return replay(net, one).end.at(0);
}

TEST(Replay, RingTakesItsStepsTimesLatencyAndShare) {
  for (const std::int64_t n : {2, 3, 8, 33}) {
    const Crossbar net(n, kRate, kLatency);
    const Bytes bytes(n * 10'000);  // a share takes 1 us
    EXPECT_EQ(time_of(net, n, Pattern::kRing, CollectiveKind::kAllReduce, bytes),
              2 * (n - 1) * 3 * kMicrosecond);
    EXPECT_EQ(time_of(net, n, Pattern::kRing, CollectiveKind::kAllGather, bytes),
              (n - 1) * 3 * kMicrosecond);
  }
}

TEST(Replay, DirectAllToAllIsBoundByEachHostsLink) {
  // n - 1 messages of S / n leave each host at the same time over one link.
  const std::int64_t n = 16;
  const Crossbar net(n, kRate, kLatency);
  const SimTime time =
      time_of(net, n, Pattern::kDirect, CollectiveKind::kAllToAll, Bytes(n * 10'000));
  EXPECT_NEAR(double(time), double((2 + (n - 1)) * kMicrosecond), 1.0);
}

TEST(Replay, TwoRingsOverTheSameLinksTakeTwiceTheShare) {
  const std::int64_t n = 8;
  const Crossbar net(n, kRate, kLatency);
  const ReplayedCollective ring = {
      hosts(n), {Pattern::kRing}, CollectiveKind::kAllGather, Bytes(n * 10'000)};
  const Replay both = replay(net, std::vector{ring, ring});
  EXPECT_EQ(both.end.at(0), (n - 1) * 4 * kMicrosecond);
  EXPECT_EQ(both.end.at(1), both.end.at(0));
  EXPECT_EQ(both.transfers, 2 * n * (n - 1));
}

TEST(Replay, RestsDelayButNeverShorten) {
  const std::int64_t n = 8;
  const Crossbar net(n, kRate, kLatency);
  const std::vector<ReplayedCollective> rings(
      4, {hosts(n), {Pattern::kRing}, CollectiveKind::kAllReduce, Bytes(n * 10'000)});
  const Replay in_step = replay(net, rings);
  const Replay out_of_step = replay(net, rings, {.longest_rest = 4 * kMicrosecond});
  const Replay again = replay(net, rings, {.longest_rest = 4 * kMicrosecond});
  EXPECT_GT(out_of_step.end.at(0), in_step.end.at(0));
  EXPECT_EQ(out_of_step.end, again.end);
  EXPECT_EQ(out_of_step.transfers, in_step.transfers);
}

}  // namespace plait::replay_test
