// A host that takes its time: closed forms, and what the explanation says of them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "costmodel/issue.h"
#include "sim/explain.h"
#include "tests/sim/draw.h"
#include "tests/sim/hand_made.h"
#include "tests/sim/reference.h"
#include "topologies/network.h"

namespace plait::host_test {

constexpr std::int64_t kSize = 1000;  // million multiply-adds of a kernel

/// Of one kernel on the ideal machine.
SimTime kernel_time() {
  return to_sim_time(CostModel().compute(matmul(kSize), ideal_machine(1).device).total());
}

CostModel costs_with(SimTime launch, SimTime collective = 0, bool graphs = false) {
  CostModel out;
  out.host.launch_time = to_seconds(launch), out.host.collective_time = to_seconds(collective);
  out.host.graphs = graphs;
  return out;
}

/// `calls` times a block of `ops` kernels, one after the other.
Plan chain(std::int64_t calls, std::size_t ops) {
  Plan plan = empty_plan(1, calls, 1);
  plan.tensors = {tensor("x", Scope::kMicrobatch)};
  plan.blocks = {{"layer", std::vector<Op>(ops, kernel(matmul(kSize), {{0, Use::kUpdate, 0}}))}};
  for (std::int32_t c = 0; c < calls; ++c) plan.programs[0].calls.push_back({.layer = c});
  return plan;
}

double share(const std::vector<Share>& shares, const std::string& group) {
  Seconds t;
  for (const Share& s : shares) t += s.group == group ? s.time : Seconds(0);
  return t.value;
}

// n kernels of d, each issued in c. The host is behind: the last begins when it is issued, n c +
// d. The device is behind: the first begins when it is issued and the rest follow, c + n d.
TEST(Host, TheSlowerOfHostAndDeviceSetsThePace) {
  const SimTime d = kernel_time();
  constexpr std::int64_t kCalls = 5, kOps = 4, n = kCalls * kOps;
  const Plan plan = chain(kCalls, kOps);
  for (const SimTime c : {d / 100, d / 3, d, 2 * d, 50 * d}) {
    EXPECT_EQ(simulate(plan, ideal_machine(1), costs_with(c)).timeline.step_time,
              c >= d ? n * c + d : c + n * d)
        << c;
  }
}

// A block is one graph: each of its calls is issued in c, so the step is as with kernels of k d.
TEST(Host, AGraphIsIssuedAtOnce) {
  const SimTime d = kernel_time(), k = 4, calls = 5;
  const Plan plan = chain(calls, static_cast<std::size_t>(k));
  for (const SimTime c : {d / 3, 3 * d, 7 * d}) {
    EXPECT_EQ(simulate(plan, ideal_machine(1), costs_with(c, 0, true)).timeline.step_time,
              c >= k * d ? calls * c + k * d : c + calls * k * d)
        << c;
  }
}

// Two streams that need nothing of each other: kernels on one, copies on the other, issued in
// turn. All streams have one host: the i-th pair is issued by 2 i c, though each stream alone would
// keep up.
TEST(Host, StreamsShareOneHost) {
  const SimTime d = kernel_time(), c = d * 3 / 4;
  constexpr std::int64_t n = 6;
  Plan plan = chain(n, 1);
  plan.tensors.push_back(tensor("y", Scope::kMicrobatch));
  plan.blocks[0].ops.push_back(
      {Copy{.bytes = Bytes(0)}, Stream::kDeviceToHost, Phase::kForward, {{1, Use::kUpdate, 0}}});
  // The last kernel is the last op but one; copies of no bytes take less than a kernel.
  const Simulation sim = simulate(plan, ideal_machine(1), costs_with(c));
  EXPECT_EQ(sim.timeline.tracks.at(0).start[2 * n - 2], (2 * n - 1) * c);
}

// Each recomputed pass costs the host its ops once more, and 9 calls for random states and
// autograd.
TEST(Host, IsLateWithRecomputedLayers) {
  Case c = small_case(1, 1, 1, 1);
  c.host.launch_time = Seconds(1e-3);  // far behind the device
  const auto step = [&] { return simulate(c.plan(), c.cluster(), c.costs()).timeline.step_time; };
  const SimTime kept = step();
  c.strategy.recompute.kind = Recompute::kFull;
  // RMSNorm, product, rope, attention, product, sum; norm, product, gate, product, sum.
  const std::int64_t forward = 6 + 5, passes = 4 * 2;
  const SimTime more = passes * (forward + 9) * to_sim_time(c.host.launch_time);
  EXPECT_EQ(step() - kept, more);
}

/// Launches that one call of a layer's pass takes, collectives apart.
double launches(const Plan& plan, const std::string& block, const Kernels& kernels = {}) {
  for (const Block& b : plan.blocks) {
    if (b.name != block) continue;
    Seconds sum;
    for (const Seconds t : issue_times(b, {Seconds(1), Seconds(0)}, kernels)) sum += t;
    return sum.value;
  }
  return 0;
}

// Of docs/models/issue.md. Forward: two norms, four products, attention, its dropout and random
// states, GELU, two residuals. Backward: of the residuals with bias and dropout 2 (1 + 2), four
// products 4 (1 + 2) and 2 2 for the biases of two, attention, GELU, norms 2 3, two sums. Products
// that sum up the gradients of their biases save 2.
TEST(Host, IssuesALayerOfMegatronInSoManyCalls) {
  Case c = small_case(1, 1, 1, 1);
  c.model = tiny_gpt();
  c.model.dropout = 0.1;
  c.workload.flash_attention = false;
  EXPECT_EQ(launches(c.plan(), "layer.forward"), 2 + 4 + (4 + 1 + 4) + 1 + 2);
  Kernels apart;
  apart.gradient_sum = apart.bias = Fusion::kEager;
  EXPECT_EQ(launches(c.plan(), "layer.backward", apart), 6 + 12 + 4 + (8 + 1) + 1 + 6 + 2);
  EXPECT_EQ(launches(c.plan(), "layer.backward"), 6 + 12 + 2 + (8 + 1) + 1 + 6 + 2);
}

// Two stages; the second has n kernels behind its receive. A host that runs ahead has issued them
// when the message comes; one that waits for it only then begins.
TEST(Host, ThatWaitsForMessagesBeginsAnew) {
  const SimTime d = kernel_time(), c = 2 * d;
  constexpr std::int64_t n = 3, kBefore = 20;
  Plan plan = two_stages();
  for (Block& b : plan.blocks) {
    if (b.name == "first") b.ops.assign(kBefore, kernel(matmul(kSize), {{0, Use::kUpdate, 0}}));
    if (b.name == "last") b.ops.assign(n, kernel(matmul(kSize), {{0, Use::kRead, 0}}));
  }
  CostModel costs = costs_with(c);
  const auto step = [&] { return simulate(plan, ideal_machine(2), costs).timeline.step_time; };
  const Track sender = simulate(plan, ideal_machine(2), costs).timeline.tracks.at(0);
  const SimTime arrival = sender.end.back();
  ASSERT_EQ(sender.end[kBefore - 1], kBefore * c + d);
  EXPECT_EQ(step(), arrival + n * d);
  costs.host.waits_for_messages = true;
  EXPECT_EQ(step(), arrival + n * c + d);
  const Explanation e = explain(plan, simulate(plan, ideal_machine(2), costs));
  EXPECT_NEAR(share(e.critical_path, "host"), to_seconds((kBefore + n) * c).value, 1e-15);
}

/// A choice of experts that reads x, and behind it n kernels that follow from it.
Plan routed(std::size_t n) {
  Plan plan = empty_plan(1, 1, 1);
  plan.tensors = {tensor("x", Scope::kMicrobatch), tensor("y", Scope::kMicrobatch)};
  Route route;
  route.tokens = 1, route.groups = 1, route.experts = 1, route.chosen = 1, route.capacity = 1;
  std::vector<Op> ops(n, kernel(matmul(kSize), {{0, Use::kUpdate, 0}}));
  ops.insert(ops.begin(), {kernel(matmul(kSize), {{0, Use::kUpdate, 0}}),
                           kernel(route, {{0, Use::kUpdate, 0}})});
  plan.blocks = {{"layer", std::move(ops)}};
  plan.programs[0].calls = {{.layer = 0}};
  return plan;
}

// A kernel, the choice, n kernels. A host that runs ahead keeps the device busy; one that waits for
// the choice begins anew behind it.
TEST(Host, ThatWaitsForRoutingBeginsAnew) {
  constexpr std::int64_t n = 3;
  const Plan plan = routed(n);
  CostModel costs = costs_with(0);
  const auto run = [&] { return simulate(plan, ideal_machine(1), costs).timeline; };
  const SimTime d = kernel_time(), chosen = run().tracks.at(0).end[1];
  const SimTime c = d / (host_calls(Route{}) + n + 1);  // all is issued while the first kernel runs
  costs = costs_with(c);
  EXPECT_EQ(run().step_time, c + chosen + n * d);
  costs.host.waits_for_routing = true;
  EXPECT_EQ(run().step_time, c + chosen + c + n * d);
  costs.host.waits_for_routing = false;
  costs.host.waits_for_messages = true;
  EXPECT_EQ(run().step_time, c + chosen + n * d) << "there are no messages";
}

// Two calls of n kernels of d, each issued in c < d: the second begins anew when the first has
// ended.
TEST(Host, ThatWaitsForPassesBeginsEachAnew) {
  Plan plan = routed(3);
  plan.programs[0].calls = {{.layer = 0}, {.layer = 1}};
  CostModel costs = costs_with(0);
  const auto step = [&] { return simulate(plan, ideal_machine(1), costs).timeline.step_time; };
  const SimTime device = step(), c = kernel_time() / 100;
  costs = costs_with(c);
  EXPECT_EQ(step(), device + c) << "it runs ahead";
  costs.host.waits_for_passes = true;
  EXPECT_EQ(step(), device + 2 * c);
}

// n kernels of d, each issued in c, one after the other and never ahead.
TEST(Host, ThatBlocksIssuesNothingAhead) {
  const Plan plan = routed(3);
  CostModel costs = costs_with(0);
  const auto step = [&] { return simulate(plan, ideal_machine(1), costs).timeline.step_time; };
  const SimTime device = step(), c = kernel_time() / 100;
  costs = costs_with(c);
  EXPECT_EQ(step(), device + c) << "it runs ahead";
  costs.host.blocking = true;
  EXPECT_EQ(step(), device + (1 + host_calls(Route{}) + 3) * c);
}

// Beside the choice a long copy is under way on a stream of its own. The choice alone is waited
// for.
TEST(Host, DoesNotWaitForWhatRunsBesideTheChoice) {
  Plan plan = routed(1);
  const SimTime d = kernel_time(), c = d / 100;
  plan.blocks[0].ops.insert(plan.blocks[0].ops.begin(),
                            Op{Copy{.bytes = Bytes(std::int64_t{1} << 40)},
                               Stream::kDeviceToHost,
                               Phase::kForward,
                               {{1, Use::kUpdate, 0}}});
  CostModel costs = costs_with(c);
  costs.host.waits_for_routing = true;
  const Track track = simulate(plan, ideal_machine(1), costs).timeline.tracks.at(0);
  ASSERT_GT(track.end[0], 10 * track.end[2]) << "the copy takes longest";
  EXPECT_EQ(track.start[3], track.end[2] + c);
}

/// Layers with experts on two stages and `ep` ranks, whose host is as slow as the device.
Case routing_case(std::int64_t pp, std::int64_t ep) {
  Case c = small_case(pp, 1, 1, 1);
  c.model.experts = 4, c.model.experts_per_token = 2, c.model.expert_ffn_hidden = 12;
  c.strategy.mesh[Axis::kEp] = ep;
  c.strategy.recompute.kind = Recompute::kFull;
  c.workload.global_batch = 4 * ep;
  c.machine.devices_per_node = c.strategy.mesh.world_size();
  c.host = {Seconds(2e-6), Seconds(5e-6)};
  c.host.waits_for_routing = true;
  return c;
}

TEST(Host, WaitsForRoutingAsTheReferenceDoes) {
  Case c = routing_case(2, 2);
  const Plan plan = c.plan();
  const Cluster cluster = c.cluster();
  const OpDuration durations =
      priced_one_by_one(plan, cluster, c.costs(), {}, factors_of(cluster, {}));
  const auto step = [&] { return simulate(plan, cluster, c.costs()).timeline.step_time; };
  const SimTime waiting = step();
  EXPECT_EQ(waiting, reference_run(plan, durations, c.host).step_time);
  c.host.waits_for_routing = false;
  EXPECT_LT(step(), waiting);
}

// One rank: nothing travels, so the flow network has nothing to add.
TEST(Host, WaitsForRoutingAlikeInTheFlowNetwork) {
  const Case c = routing_case(1, 1);
  const Plan plan = c.plan();
  const Cluster cluster = c.cluster();
  SimulationOptions flow;
  flow.interference = false;
  flow.network = make_network(cluster);
  EXPECT_EQ(simulate(plan, cluster, c.costs(), flow).timeline.step_time,
            simulate(plan, cluster, c.costs()).timeline.step_time);
}

TEST(Host, ThatBindsIsSaidToBind) {
  const SimTime d = kernel_time();
  const Plan plan = chain(5, 4);
  const Simulation behind = simulate(plan, ideal_machine(1), costs_with(2 * d));
  const Explanation e = explain(plan, behind);
  EXPECT_EQ(e.bound_by, "host");
  EXPECT_DOUBLE_EQ(share(e.critical_path, "host"), to_seconds(20 * 2 * d).value);
  EXPECT_DOUBLE_EQ(share(e.breakdown, "host"), to_seconds(2 * d + 19 * d).value);
  EXPECT_EQ(e.sensitivity.at(0).resource, "host_issue");
  EXPECT_DOUBLE_EQ(e.sensitivity.at(0).time.value, to_seconds(20 * 2 * d).value);
  EXPECT_EQ(explain(plan, simulate(plan, ideal_machine(1), costs_with(d / 2))).bound_by, "compute");
}

// The path's time on the host is what the step loses by it, to first order.
TEST(Host, SensitivityPredictsAFasterHost) {
  Case c = small_case(2, 2, 1, 2);
  c.host = {Seconds(8e-6), Seconds(20e-6)};
  const Plan plan = c.plan();
  const Simulation sim = simulate(plan, c.cluster(), c.costs());
  double spent = 0;
  for (const Sensitivity& s : explain(plan, sim).sensitivity) {
    spent += s.resource == "host_issue" ? s.time.value : 0;
  }
  ASSERT_GT(spent, 0);
  constexpr double kFaster = 1e-3;
  c.host.launch_time *= 1 - kFaster, c.host.collective_time *= 1 - kFaster;
  const SimTime faster = simulate(plan, c.cluster(), c.costs()).timeline.step_time;
  EXPECT_NEAR(to_seconds(sim.timeline.step_time - faster).value, kFaster * spent,
              0.01 * kFaster * spent);
}

RC_GTEST_PROP(Host, AFasterHostIsNeverSlower, ()) {
  Case c = RandomCase(pick).draw();
  c.host = {Seconds(1e-8 * static_cast<double>(pick(0, 2000))),
            Seconds(1e-8 * static_cast<double>(pick(0, 2000)))};
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  const SimTime before = simulate(plan, c.cluster(), c.costs()).timeline.step_time;
  (pick(0, 1) == 0 ? c.host.launch_time : c.host.collective_time) *= 0.5;
  RC_ASSERT(simulate(plan, c.cluster(), c.costs()).timeline.step_time <= before);
  c.host = {};
  const SimTime without = simulate(plan, c.cluster(), c.costs()).timeline.step_time;
  RC_ASSERT(without <= before);
}

}  // namespace plait::host_test
