// How many kinds of ranks there are.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "sim/lanes.h"
#include "sim/simulate.h"
#include "tests/sim/cases.h"

namespace plait::fold_test {

constexpr std::int64_t kTp = 8, kPp = 16, kDp = 128;

/// TP8 x PP16 x DP128 on 2,048 nodes of 8 GPUs.
struct Large {
  Plan plan;
  ClusterSpec machine;

  Large() {
    Case c = small_case(kPp, kDp, 1, kTp);
    c.model.heads = c.model.kv_heads = 8;
    c.model.layers = kPp;
    plan = c.plan();
    machine.nodes = kPp * kDp;
    machine.devices_per_node = kTp;
  }
  Lanes lanes(const std::vector<std::int64_t>& placement = {}) const {
    const Cluster cluster = make_cluster(machine);
    return fold(plan, locate(plan, cluster, placement), false);
  }
  std::int64_t rank_classes() const {
    SimulationOptions options;
    options.record = false;
    return simulate(plan, make_cluster(machine), {}, options).rank_classes;
  }
};

std::int64_t positions_of(const Lanes& lanes) {
  return std::accumulate(lanes.multiplicity.begin(), lanes.multiplicity.end(), std::int64_t{0});
}

TEST(Fold, EqualDevicesGiveOneClassPerStage) { EXPECT_EQ(Large().rank_classes(), kPp); }

// In its stage the straggler's tp group waits for it, and its dp group; so a position is the
// straggler's, beside it along tp, beside it along dp, or neither: 2 x 2 lanes in each of the
// stages, which wait for one another.
TEST(Fold, OneStragglerGivesFourLanesInEveryStage) {
  Large large;
  large.machine.slowdowns = {{5 * kDp * kTp + 3 * kTp + 2, 1.1}};
  EXPECT_EQ(large.rank_classes(), 2 * 2 * kPp);
  const Lanes lanes = large.lanes();
  EXPECT_EQ(std::multiset<std::int64_t>(lanes.multiplicity.begin(), lanes.multiplicity.end()),
            (std::multiset<std::int64_t>{1, kTp - 1, kDp - 1, (kTp - 1) * (kDp - 1)}));
}

TEST(Fold, JitterMakesEveryRankAClass) {
  Large large;
  large.machine.jitter = 0.05;
  const Lanes lanes = large.lanes();
  EXPECT_EQ(static_cast<std::int64_t>(lanes.count()) * kPp, large.plan.mesh.world_size());
}

TEST(Fold, LanesStandForEveryPositionOnce) {
  Large large;
  EXPECT_EQ(positions_of(large.lanes()), kTp * kDp);
  large.machine.slowdowns = {{0, 1.5}, {17, 1.2}, {16000, 1.2}};
  const Lanes lanes = large.lanes();
  EXPECT_EQ(positions_of(lanes), kTp * kDp);
  std::vector<std::int64_t> counted(lanes.count(), 0);
  for (std::uint32_t l : lanes.lane_of) ++counted.at(l);
  EXPECT_EQ(counted, lanes.multiplicity);
}

// Without unfolding, replicas are simulated once: the work does not depend on their number.
TEST(Fold, OpsSimulatedDoNotGrowWithReplicas) {
  SimulationOptions options;
  const auto walked = [&](std::int64_t dp) {
    Case c = small_case(2, dp, 1, 1);
    c.machine.nodes = dp;
    c.machine.devices_per_node = 2;
    return simulate(c.plan(), c.cluster(), {}, options).ops_simulated;
  };
  EXPECT_EQ(walked(2), walked(64));
}

TEST(Fold, JitterIsADevicesOwn) {
  Case c = small_case(1, 4, 1, 2);
  c.machine.jitter = 0.1;
  const Plan plan = c.plan();
  const Cluster cluster = c.cluster();
  SimulationOptions options;
  options.unfold = true;
  const Simulation in_order = simulate(plan, cluster, {}, options);
  options.placement = {3, 1, 4, 0, 5, 7, 2, 6};
  const Simulation shuffled = simulate(plan, cluster, {}, options);
  for (std::size_t r = 0; r < options.placement.size(); ++r) {
    const double f = shuffled.durations->factor(0, r);
    EXPECT_EQ(f, in_order.durations->factor(0, static_cast<std::size_t>(options.placement[r])));
    EXPECT_GE(f, 1);
    EXPECT_LE(f, 1 + c.machine.jitter);
  }
}

TEST(Fold, ASlowSingleDeviceIsSlow) {
  Case c = small_case(1, 1, 1, 1);
  const SimTime usual = simulate(c.plan(), c.cluster(), {}).timeline.step_time;
  c.machine.slowdowns = {{0, 2}};
  // A single rank only computes, so everything takes twice as long; each op is rounded to 1 ps.
  const SimTime slow = simulate(c.plan(), c.cluster(), {}).timeline.step_time;
  EXPECT_NEAR(static_cast<double>(slow), static_cast<double>(2 * usual),
              static_cast<double>(op_count(c.plan())));
}

}  // namespace plait::fold_test
