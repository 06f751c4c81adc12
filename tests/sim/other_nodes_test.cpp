// Steps on nodes of several kinds.
#include <gtest/gtest.h>

#include <limits>

#include "sim/simulate.h"
#include "tests/sim/cases.h"
#include "tests/sim/hand_made.h"

namespace plait::other_nodes_test {

/// Replicas on two nodes of two H100s each; nodes `first` to `last` at half the speed.
SimTime step(std::int64_t first, std::int64_t last, bool unfold = false) {
  Case c = small_case(1, 4, 1, 1);
  c.machine.devices_per_node = 2, c.machine.nodes = 2;
  if (first <= last) {
    c.machine.other_nodes = {slower_nodes(first, last, find_node("hgx-h100"), 0.5)};
  }
  SimulationOptions options;
  options.unfold = unfold;
  return simulate(c.plan(), c.cluster(), {}, options).timeline.step_time;
}

// Replicas wait for each other once per step, so the slowest one's compute bounds it.
TEST(OtherNodes, HalfOfTheReplicasOnSlowDevicesIsAsSlowAsAll) {
  EXPECT_EQ(step(1, 1), step(0, 1));
  EXPECT_EQ(step(0, 0), step(0, 1));
  EXPECT_GT(step(0, 1), step(0, -1));
}

TEST(OtherNodes, NodesOfTheSameKindChangeNothing) {
  Case c = small_case(1, 4, 1, 2);
  c.machine.devices_per_node = 4, c.machine.nodes = 2;
  const Simulation alike = simulate(c.plan(), c.cluster(), {});
  c.machine.other_nodes = {slower_nodes(1, 1, find_node("hgx-h100"), 1)};
  EXPECT_EQ(simulate(c.plan(), c.cluster(), {}).timeline.step_time, alike.timeline.step_time);
}

// Of two stages, the second takes f' and b' instead of f and b, which is longer. It works without a
// break from its first microbatch, f, to its last gradient, which the first stage has to finish, b:
// f + m (f' + b') + b.
TEST(OtherNodes, AStageOnSlowDevicesIsTheBottleneckOfItsPipeline) {
  constexpr std::int64_t kMicrobatches = 5, kForward = 1000, kBackward = 2000;
  ClusterSpec spec{.nodes = 2, .devices_per_node = 1};
  spec.other_nodes = {slower_nodes(1, 1, find_node("hgx-h100"), 0.5)};
  Cluster cluster = make_cluster(spec);
  for (Device* d : {&cluster.device, &cluster.others[0].device}) {
    d->launch_overhead = Seconds(0);
    d->memory_bandwidth = BytesPerSecond(std::numeric_limits<double>::infinity());
  }
  const auto time = [&](std::int64_t k, std::size_t kind) {
    return to_sim_time(CostModel().compute(matmul(k), cluster.kind(kind).device).total());
  };
  const SimTime slow = time(kForward, 1) + time(kBackward, 1),
                ends = time(kForward, 0) + time(kBackward, 0);
  EXPECT_GT(slow, ends);
  for (const Schedule kind : {Schedule::kGpipe, Schedule::k1f1b}) {
    const Plan plan = equal_stages(kind, 2, 1, kMicrobatches, kForward, kBackward);
    EXPECT_EQ(simulate(plan, cluster, {}).timeline.step_time, kMicrobatches * slow + ends);
  }
  // Now the first stage is slow. Between its forward and backward kernels it waits for the second
  // stage's f and b.
  const Plan plan = equal_stages(Schedule::kGpipe, 2, 1, kMicrobatches, kForward, kBackward);
  const SimulationOptions swapped{.placement = {1, 0}};
  EXPECT_EQ(simulate(plan, cluster, {}, swapped).timeline.step_time, kMicrobatches * slow + ends);
}

// A tensor-parallel group never spans the two kinds, a data-parallel one always does: one class of
// ranks per kind.
TEST(OtherNodes, RanksOfAKindAreOneClass) {
  Case c = small_case(1, 4, 1, 4);
  c.machine.devices_per_node = 8, c.machine.nodes = 2;
  EXPECT_EQ(simulate(c.plan(), c.cluster(), {}).rank_classes, 1);
  c = mixed(c);
  EXPECT_EQ(simulate(c.plan(), c.cluster(), {}).rank_classes, 2);
}

TEST(OtherNodes, TheStepIsTheSameFoldedAndUnfolded) {
  EXPECT_EQ(step(1, 1, false), step(1, 1, true));
}

}  // namespace plait::other_nodes_test
