// The flow engine: equal to the sweep engine where nothing contends, equal folded and unfolded
// where much does, and slower by what closed forms say.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/simulate.h"
#include "tests/sim/crossbar.h"
#include "tests/sim/draw.h"

namespace plait::flow_test {

/// The first span in which two timelines of one plan differ, or "". Tracks of `a` are looked up in
/// `b` by their lane, which `lanes` of b gives.
std::string difference(const Plan& plan, const Simulation& a, const Simulation& b) {
  if (a.timeline.step_time != b.timeline.step_time) {
    return "step " + std::to_string(a.timeline.step_time) + " and " +
           std::to_string(b.timeline.step_time);
  }
  const std::int64_t positions = plan.places_per_stage();
  const std::size_t per_stage = b.timeline.tracks.size() / plan.programs.size();
  for (const Track& t : a.timeline.tracks) {
    const auto lane = b.lanes->lane_of[static_cast<std::size_t>(t.rank % positions)];
    const Track& u = b.timeline.tracks[static_cast<std::size_t>(t.stage) * per_stage + lane];
    for (std::size_t i = 0; i < t.end.size(); ++i) {
      if (t.start[i] == u.start[i] && t.end[i] == u.end[i]) continue;
      return "rank " + std::to_string(t.rank) + " op " + std::to_string(i) + ": " +
             std::to_string(t.start[i]) + " to " + std::to_string(t.end[i]) + " and " +
             std::to_string(u.start[i]) + " to " + std::to_string(u.end[i]);
    }
  }
  return "";
}

std::shared_ptr<const Network> crossbar(const Cluster& cluster, BytesPerSecond bandwidth) {
  return std::make_shared<Crossbar>(cluster.world_size(), bandwidth, Seconds(1e-6));
}

// In one node, behind NVSwitches: elsewhere the analytic network divides links by a formula,
// beforehand.
RC_GTEST_PROP(Flow, EqualsTheSweepWhereNothingContends, ()) {
  Case c = any_machine();
  c.machine.nodes = 1;
  c.machine.preset = pick(0, 1) == 0 ? "hgx-h100" : "dgx-a100";
  c.machine.other_nodes.clear();
  c.machine.devices_per_node = c.strategy.mesh.world_size();
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  const Cluster cluster = c.cluster();
  SimulationOptions options;
  options.placement = c.placement;
  options.unfold = pick(0, 1) == 1;
  options.interference = false;
  const Simulation swept = simulate(plan, cluster, c.costs(), options);
  options.network = crossbar(cluster, BytesPerSecond(1e15));
  const Simulation flowed = simulate(plan, cluster, c.costs(), options);
  RC_ASSERT(difference(plan, swept, flowed) == std::string());
  RC_ASSERT(flowed.contention.empty());
}

// A bucket waits on its stream for the one before it, and meanwhile the host waits for the lengths
// of documents: what was issued before such a wait does not begin by what the host does behind it.
TEST(Flow, WhatWasIssuedBeforeTheHostWaitedBeginsAsInTheSweep) {
  Case c;
  c.model = tiny_llama();
  c.model.layers = 1;
  c.strategy.mesh[Axis::kDp] = 2;
  c.strategy.data.bucket = Bytes(1000);
  c.strategy.recompute.kind = Recompute::kFull;
  c.workload.sequence_length = 24, c.workload.global_batch = 2;
  c.workload.gradient_clipping = c.workload.flash_attention = false;
  c.machine.preset = "dgx-a100", c.machine.devices_per_node = 2;
  c.machine.slowdowns = {{0, 1.0625 * 1.0625}}, c.machine.jitter = 0.1;
  c.host.launch_time = Seconds(1e-8), c.host.graphs = c.host.waits_for_lengths = true;
  const Plan plan = c.plan();
  const Cluster cluster = c.cluster();
  SimulationOptions options;
  options.interference = false;
  const Simulation swept = simulate(plan, cluster, c.costs(), options);
  options.network = crossbar(cluster, BytesPerSecond(1e15));
  EXPECT_EQ(difference(plan, swept, simulate(plan, cluster, c.costs(), options)), "");
}

struct BothWays {
  Simulation folded, unfolded;
};
BothWays both_ways(const Case& c, const Plan& plan, std::shared_ptr<const Network> network) {
  SimulationOptions options;
  options.placement = c.placement;
  options.network = std::move(network);
  BothWays out;
  out.folded = simulate(plan, c.cluster(), c.costs(), options);
  options.unfold = true;
  out.unfolded = simulate(plan, c.cluster(), c.costs(), options);
  return out;
}

RC_GTEST_PROP(Flow, FoldedEqualsUnfoldedWhereMuchContends, ()) {
  const Case c = any_machine();
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  const BytesPerSecond bandwidth(1e9 * static_cast<double>(pick(1, 20)));
  const BothWays runs = both_ways(c, plan, crossbar(c.cluster(), bandwidth));
  RC_ASSERT(difference(plan, runs.unfolded, runs.folded) == std::string());
  RC_ASSERT(runs.folded.contention.size() <= runs.unfolded.contention.size());
}

RC_GTEST_PROP(Flow, FoldedEqualsUnfoldedOnTheMachineItself, ()) {
  const Case c = any_machine();
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  const Spreading spreading = pick(0, 3) == 0 ? Spreading::kHash : Spreading::kEven;
  const BothWays runs = both_ways(c, plan, make_network(c.cluster(), {.spreading = spreading}));
  RC_ASSERT(difference(plan, runs.unfolded, runs.folded) == std::string());
}

/// Data parallel over four nodes of one GPU, two to a pod.
Case data_parallel_case(double oversubscription) {
  Case c = small_case(1, 4, 1, 1);
  c.machine.devices_per_node = 1;
  c.machine.nodes = 4;
  c.machine.nodes_per_pod = 2;
  c.machine.oversubscription = oversubscription;
  return c;
}

std::int64_t gradient_bytes(const Case& c) {
  std::int64_t bytes = 0;
  for (const Block& b : c.plan().blocks) {
    for (const Op& op : b.ops) {
      if (const auto* reduced = std::get_if<Collective>(&op.body)) bytes += reduced->bytes().value;
    }
  }
  return bytes;
}

SimTime step_of(const Case& c) {
  const Cluster cluster = c.cluster();
  SimulationOptions options;
  options.interference = false;
  options.network = make_network(cluster);
  return simulate(c.plan(), cluster, {}, options).timeline.step_time;
}

TEST(Flow, OneRingAloneIsNotSlowedByACableThatItHasToItself) {
  // Of two nodes per pod the ring sends one connection up: two cables up carry it, one does, and
  // only less than one does not.
  EXPECT_EQ(step_of(data_parallel_case(2)), step_of(data_parallel_case(1)));
  EXPECT_GT(step_of(data_parallel_case(8)), step_of(data_parallel_case(1)));
}

TEST(Flow, NoFlowIsFasterThanItsLinksThoughTheCostModelThinksSo) {
  const Case c = data_parallel_case(1);
  const Cluster cluster = c.cluster();
  SimulationOptions options;
  options.interference = false;
  const auto step_over = [&](double bandwidth) {
    options.network = crossbar(cluster, BytesPerSecond(bandwidth));
    return to_seconds(simulate(c.plan(), cluster, {}, options).timeline.step_time).value;
  };
  // Alone at 1 MB/s, an all_reduce sends 3 / 4 of its bytes twice.
  const double gradients = 2 * 0.75 * static_cast<double>(gradient_bytes(c));
  EXPECT_NEAR(step_over(1e6), step_over(1e15) + gradients / 1e6, 0.02 * gradients / 1e6);
}

TEST(Flow, CollectivesHoldSmsAndSlowComputeDown) {
  Case c = small_case(1, 4, 1, 1);
  c.strategy.data.overlap = true;
  c.strategy.data.bucket = Bytes(10'000);
  c.model.layers = 8;
  const Cluster cluster = c.cluster();
  SimulationOptions options;
  options.network = make_network(cluster);
  const SimTime slowed = simulate(c.plan(), cluster, {}, options).timeline.step_time;
  options.interference = false;
  EXPECT_GT(slowed, simulate(c.plan(), cluster, {}, options).timeline.step_time);
}

}  // namespace plait::flow_test
