// Folded, unfolded and reference simulation of the same step agree to the picosecond.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/simulate.h"
#include "tests/sim/draw.h"
#include "tests/sim/hand_made.h"
#include "tests/sim/reference.h"

namespace plait::agreement_test {

/// The first span that differs, or "".
std::string difference(const Track& track, const RankSpans& reference) {
  for (std::size_t i = 0; i < reference.end.size(); ++i) {
    if (track.start[i] == reference.start[i] && track.end[i] == reference.end[i]) continue;
    return "rank " + std::to_string(track.rank) + " op " + std::to_string(i) + ": " +
           std::to_string(track.start[i]) + " to " + std::to_string(track.end[i]) + ", reference " +
           std::to_string(reference.start[i]) + " to " + std::to_string(reference.end[i]);
  }
  return track.end.size() == reference.end.size() ? "" : "another number of ops";
}
std::string difference(const Timeline& timeline, const ReferenceRun& reference) {
  if (reference.blocked) return "the reference is blocked";
  for (const Track& t : timeline.tracks) {
    const std::string d = difference(t, reference.ranks[static_cast<std::size_t>(t.rank)]);
    if (!d.empty()) return d;
  }
  if (timeline.step_time == reference.step_time) return "";
  return "step " + std::to_string(timeline.step_time) + ", reference " +
         std::to_string(reference.step_time);
}

struct Runs {
  Simulation folded, unfolded;
  ReferenceRun reference;
};
Runs run_all(const Case& c, const Plan& plan, const Cluster& cluster) {
  SimulationOptions options;
  options.placement = c.placement;
  Runs out;
  out.folded = simulate(plan, cluster, c.costs(), options);
  options.unfold = true;
  out.unfolded = simulate(plan, cluster, c.costs(), options);
  std::vector<double> factor = factors_of(cluster, c.placement);
  if (cluster.jitter > 0) {  // jitter is the simulator's own: take its factors as given
    for (std::size_t r = 0; r < factor.size(); ++r) {
      const auto stage_size = static_cast<std::size_t>(plan.places_per_stage());
      factor[r] = out.unfolded.durations->factor(r / stage_size, r % stage_size);
    }
  }
  const CostModel costs = c.costs();
  out.reference = reference_run(plan, priced_one_by_one(plan, cluster, costs, c.placement, factor),
                                c.host, remembered(beside_of(plan, cluster, costs, c.placement)));
  return out;
}
void expect_agreement(const Case& c) {
  const Plan plan = c.plan();
  const Cluster cluster = c.cluster();
  const Runs runs = run_all(c, plan, cluster);
  EXPECT_EQ(difference(runs.unfolded.timeline, runs.reference), "") << "unfolded";
  EXPECT_EQ(difference(runs.folded.timeline, runs.reference), "") << "folded";
}

RC_GTEST_PROP(Agreement, FoldedUnfoldedAndReferenceAreEqualOnRandomHybrids, ()) {
  const Case c = any_machine();
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  const Cluster cluster = c.cluster();
  const Runs runs = run_all(c, plan, cluster);
  RC_ASSERT(difference(runs.unfolded.timeline, runs.reference) == std::string());
  RC_ASSERT(difference(runs.folded.timeline, runs.reference) == std::string());
  RC_ASSERT(runs.folded.ops_represented == runs.unfolded.ops_simulated);
}

RC_GTEST_PROP(Agreement, EveryMemberOfALaneHasTheTimesOfItsRepresentative, ()) {
  const Case c = any_machine();
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  const Runs runs = run_all(c, plan, c.cluster());
  const std::vector<std::uint32_t>& lane_of = runs.folded.lanes->lane_of;
  const std::size_t lanes = runs.folded.lanes->count();
  for (std::size_t r = 0; r < runs.reference.ranks.size(); ++r) {
    const std::size_t stage = r / lane_of.size();
    const Track& track = runs.folded.timeline.tracks[stage * lanes + lane_of[r % lane_of.size()]];
    RC_ASSERT(difference(track, runs.reference.ranks[r]) == std::string());
  }
}

// One case for each way in which ranks differ, so that a failure has a name.
TEST(Agreement, TwoStages) { expect_agreement(small_case(2, 1, 1, 1)); }
TEST(Agreement, ShardsAndReplicas) { expect_agreement(small_case(1, 2, 2, 1)); }
TEST(Agreement, AllAxes) { expect_agreement(small_case(2, 2, 2, 2)); }
TEST(Agreement, AStraggler) {
  Case c = small_case(2, 2, 1, 2);
  c.machine.slowdowns = {{3, 1.5}};
  expect_agreement(c);
}
TEST(Agreement, JitterOnEveryDevice) {
  Case c = small_case(2, 2, 1, 2);
  c.machine.jitter = 0.1;
  expect_agreement(c);
}
TEST(Agreement, NodesThatTpDoesNotDivide) {
  Case c = small_case(1, 3, 1, 2);
  c.machine.nodes = 2;
  c.machine.devices_per_node = 3;
  expect_agreement(c);
}
TEST(Agreement, AHostAsFastAsItsDevice) {
  for (const double launch : {0.5e-6, 2e-6, 5e-6, 50e-6}) {
    Case c = small_case(2, 2, 1, 2);
    c.host = {Seconds(launch), Seconds(2 * launch)};
    expect_agreement(c);
  }
}
TEST(Agreement, StagesOnShuffledDevices) {
  Case c = small_case(2, 2, 1, 2);
  c.machine.nodes = 4;
  c.machine.devices_per_node = 2;
  c.placement = {5, 0, 3, 6, 1, 7, 2, 4};
  expect_agreement(c);
}

// Gradients are reduced one bucket behind the other while the optimizer, which is issued behind
// them, begins beside the first one: what that keeps of the device must not be forgotten.
TEST(Agreement, KernelsIssuedBehindCollectivesThatBeginLater) {
  Case c = small_case(4, 1, 2, 2);
  c.strategy.zero_stage = 1, c.strategy.sequence_parallel = true;
  c.strategy.pipeline.schedule = Schedule::kZbH1;
  c.strategy.data.bucket = Bytes(1000), c.strategy.data.overlap = false;
  c.workload.global_batch = 2, c.workload.gradient_clipping = false;
  c.workload.flash_attention = false;
  c.workload.precision.weights = c.workload.precision.reduction = DType::kFp32;
  c.machine.devices_per_node = 1, c.machine.nodes = 16;
  c.machine.fabric = "roce100", c.machine.nodes_per_pod = 1;
  c.launch = 0.001;
  expect_agreement(c);
}

// Replicas meet in their last microbatch: until then hundreds of collectives of the slow one's
// group have yet to end when the other begins a kernel, to which they are nothing. Reductions are.
TEST(Agreement, AReplicaFarAheadOfAnother) {
  Case c = small_case(1, 2, 1, 2);
  c.machine.slowdowns = {{0, 8}};
  c.workload.global_batch = 2 * 8;
  c.strategy.data.bucket = Bytes(1000);
  c.launch = 0.001;
  expect_agreement(c);
}

}  // namespace plait::agreement_test
