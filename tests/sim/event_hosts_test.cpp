// Step times on shared cores and links that can be written down.
#include <gtest/gtest.h>

#include "core/error.h"
#include "sim/simulate.h"
#include "tests/sim/event_cases.h"

namespace plait::event_hosts_test {

constexpr double kRoundingUs = 1e-4;  // us: some picoseconds per round

TEST(Hosts, OneRankTakesTheSumOfItsOps) {
  EXPECT_EQ(step_us(independent(1, {3, 5, 7}), free_hosts(1, 1)), (3 + 5 + 7));
}

TEST(Hosts, RanksShareTheCores) {
  HostSystem hosts = free_hosts(1, 6);
  for (double cores : {1.0, 2.0, 4.0, 6.0, 8.0}) {
    hosts.cores = cores;
    const double stretch = std::max(1.0, 6 / cores);
    EXPECT_NEAR(step_us(independent(6, {3, 5}), hosts), stretch * 8, kRoundingUs) << cores;
  }
}

TEST(Hosts, NamespacesOfOneMachineShareItsCores) {
  HostSystem hosts = free_hosts(4, 1);
  hosts.cores = 1;
  EXPECT_EQ(step_us(independent(4, {3}), hosts), 3);
  hosts.machines = 1;
  EXPECT_EQ(step_us(independent(4, {3}), hosts), 4 * 3);
}

TEST(Hosts, TimedComputeNeedsNoCore) {
  HostSystem hosts = free_hosts(1, 6);
  hosts.cores = 1;
  hosts.timed_compute = true;
  EXPECT_EQ(step_us(independent(6, {3, 5}), hosts), 8);
}

TEST(Hosts, AMessageWithinAHostTakesItsWorkAndLatency) {
  HostSystem hosts = free_hosts(1, 2);
  hosts.within.send = per_byte(2e-9), hosts.within.receive = per_byte(3e-9);
  hosts.within.latency = Seconds(10e-6);
  // Kernel 1 us, then 200 KB at 2 and 3 ns per byte, then the last kernel of 1 us.
  EXPECT_EQ(step_us(one_message(1, 200'000), hosts), (1 + 400 + 10 + 600 + 1));
}

// Two tensors are copied to one buffer, reduced in 2 (n - 1) steps, and copied back.
TEST(Hosts, OperandsInPiecesAreCopiedThereAndBack) {
  constexpr std::int64_t kElements = 1'000'000;
  HostSystem hosts = free_hosts(1, 2);
  hosts.within.send = per_byte(1e-9);
  Plan plan = one_all_reduce(2, kElements);
  const double one_piece = step_us(plan, hosts);
  EXPECT_NEAR(one_piece, 1 + 2 * (4e-3 * kElements / 2), kRoundingUs);
  hosts.copy = per_byte(0.5e-9);
  EXPECT_EQ(step_us(plan, hosts), one_piece);
  plan.tensors.push_back(tensor("other", Scope::kLayer));
  plan.blocks[1].ops[0].operands.push_back({1, Use::kUpdate, 0});
  EXPECT_NEAR(step_us(plan, hosts), one_piece + 2 * (0.5e-3 * 4 * kElements), kRoundingUs);
}

// The receiver's communication thread wakes up early, while the message is on its way.
TEST(Hosts, ThreadsThatWaitTakeTimeToWakeUp) {
  HostSystem hosts = free_hosts(1, 2);
  hosts.within.send = per_byte(2e-9), hosts.within.receive = per_byte(3e-9);
  hosts.within.latency = Seconds(10e-6), hosts.within.wake = Seconds(5e-6);
  // Kernel, hand-over to the sender's communication thread, message, and back to the receiver's
  // compute thread for the last kernel.
  EXPECT_EQ(step_us(one_message(1, 200'000), hosts), (1 + 5 + 400 + 10 + 600 + 5 + 1));
  hosts.timed_compute = true;  // the last kernel is not late
  EXPECT_EQ(step_us(one_message(1, 200'000), hosts), (1 + 5 + 400 + 10 + 600 + 1));
}

// The receiver's core is busy with "warm" for 1000 us; what has come waits for nobody but the core.
TEST(Hosts, AMessageDoesNotWaitForItsReceive) {
  HostSystem hosts = free_hosts(1, 2);
  hosts.within.send = per_byte(1e-9);
  Plan plan = one_message(1, 100'000);
  std::get<MatMul>(std::get<Compute>(plan.blocks[2].ops[0].body)).k = 1000;
  const Timeline t = simulate_hosts(plan, hosts, microseconds_of);
  EXPECT_EQ(in_us(t.tracks[0].end[1]), 1 + 100);  // the send
  EXPECT_EQ(in_us(t.tracks[1].end[1]), 1000);     // the receive
  EXPECT_EQ(in_us(t.step_time), 1001);
}

// Over a link, small: work, flow, latency and work one behind the other.
TEST(Hosts, ASmallMessageGoesThroughOneThingAfterTheOther) {
  HostSystem hosts = free_hosts(2, 1);
  hosts.between.send = per_byte(2e-9), hosts.between.receive = per_byte(3e-9);
  hosts.between.latency = Seconds(10e-6);
  hosts.wire = Seconds(5e-6);
  // 50,000 bytes at 125 bytes per us: 400 us.
  EXPECT_EQ(step_us(one_message(1, 50'000), hosts), (1 + 100 + 400 + 15 + 150 + 1));
}

// Large: all work but that of one piece of 64 KiB goes on beside the flow.
TEST(Hosts, TheWorkOfALargeMessageOverlapsItsFlow) {
  HostSystem hosts = free_hosts(2, 1);
  hosts.between.send = per_byte(2e-9), hosts.between.receive = per_byte(3e-9);
  hosts.wire = Seconds(5e-6);
  const double flow = 1'000'000 / 125.0, piece = 65536 * 5e-3;  // us
  EXPECT_NEAR(step_us(one_message(1, 1'000'000), hosts), (1 + flow + piece + 5 + 1), kRoundingUs);
}

// Work that is slower than the link decides: the sender's piece, then its rest; the flow has ended.
TEST(Hosts, ASlowSenderHoldsItsFlowBack) {
  HostSystem hosts = free_hosts(2, 1);
  hosts.between.send = per_byte(20e-9);
  EXPECT_NEAR(step_us(one_message(1, 1'000'000), hosts), (1 + 20'000 + 1), kRoundingUs);
}

TEST(Hosts, ASlowReceiverTakesItsTime) {
  HostSystem hosts = free_hosts(2, 1);
  hosts.between.receive = per_byte(20e-9);
  hosts.wire = Seconds(5e-6);
  EXPECT_NEAR(step_us(one_message(1, 1'000'000), hosts), (1 + 5 + 20'000 + 1), kRoundingUs);
}

TEST(Hosts, TwoMessagesShareAnUplink) {
  const double one = step_us(one_message(1, 1'250'000), free_hosts(2, 1));
  EXPECT_EQ(one, (1 + 10'000 + 1));
  EXPECT_EQ(step_us(one_message(2, 1'250'000), free_hosts(2, 2)), one + 10'000);
}

// Ranks 0 and 2, and ranks 1 and 3, on one host each: no message crosses.
TEST(Hosts, PlacementDecidesWhatCrossesALink) {
  const Timeline t =
      simulate_hosts(one_message(2, 1'250'000), free_hosts(2, 2), microseconds_of, {0, 2, 1, 3});
  EXPECT_EQ(in_us(t.step_time), 1 + 1);
}

// B = 250 KB at R = 125 MB/s and P = 250 MB/s: tokens last B / (P - R) = 2 ms, for 500 KB.
TEST(Hosts, ABurstPassesBeforeTheRateHolds) {
  HostSystem hosts = free_hosts(2, 1);
  hosts.link = {
      .rate = BytesPerSecond(125e6), .peak = BytesPerSecond(250e6), .burst = Bytes(250'000)};
  EXPECT_NEAR(step_us(one_message(1, 400'000), hosts), (1 + 1600 + 1), kRoundingUs);
  EXPECT_NEAR(step_us(one_message(1, 1'000'000), hosts), (1 + 2000 + 4000 + 1), kRoundingUs);
}

// 2 (n - 1) rounds, each of them work of the sender, S / n over the link, latency, work of the
// receiver; the first half adds.
TEST(Hosts, ARingOverLinks) {
  for (std::int64_t n : {2, 3, 4, 8}) {
    HostSystem hosts = free_hosts(n, 1);
    hosts.between.send = per_byte(1e-9), hosts.between.receive = per_byte(2e-9);
    hosts.between.latency = Seconds(7e-6), hosts.combine = per_byte(0.5e-9);
    const std::int64_t share = 60'000;  // bytes, less than a piece
    const double round = share * (1e-3 + 2e-3 + 1 / 125.0) + 7;
    const double us =
        2 * static_cast<double>(n - 1) * round + static_cast<double>(n - 1) * share * 0.5e-3;
    EXPECT_NEAR(step_us(one_all_reduce(n, n * share / 4), hosts), 1 + us, kRoundingUs) << n;
  }
}

// log2 n rounds of S each; 1000 bytes are few enough.
TEST(Hosts, RecursiveDoublingOverLinks) {
  HostSystem hosts = free_hosts(8, 1);
  hosts.wire = Seconds(20e-6);
  EXPECT_NEAR(step_us(one_all_reduce(8, 250), hosts), (1 + 3 * (1000 / 125.0 + 20)), kRoundingUs);
}

// Two ranks of a host share its link: in a flat ring each host sends one message per round, so it
// is no slower than with one rank per host (2 (n - 1) / n S over the link).
TEST(Hosts, ANeighbourOnTheSameHostDoesNotUseTheLink) {
  const std::int64_t elements = 400'000;
  const double us = 2 * 3 * (4 * elements / 4 / 125.0);
  EXPECT_NEAR(step_us(one_all_reduce(4, elements), free_hosts(2, 2)), (1 + us), kRoundingUs);
}

// Communication threads are threads like others: with one core for two ranks, work adds up.
TEST(Hosts, CommunicationTakesCoresFromCompute) {
  HostSystem hosts = free_hosts(1, 2);
  hosts.cores = 1;
  hosts.within.send = per_byte(1e-9);
  // Both kernels of 1 us on one core, then both send 2 x 100 KB in recursive doubling's one round.
  EXPECT_NEAR(step_us(one_all_reduce(2, 1000), hosts), (2 + 2 * 4), kRoundingUs);
}

/// `layers` kernels of `k` us, a reduction of 1.25 MB behind each.
Plan overlapped(std::int64_t layers, std::int64_t k) {
  Plan plan = one_all_reduce(2, 312'500);
  plan.layers = layers;
  plan.programs[0].calls.clear();
  plan.blocks[0].ops[0].body = matmul(k);
  for (std::int32_t l = static_cast<std::int32_t>(layers); l-- > 0;) {
    plan.programs[0].calls.push_back({.block = 0, .layer = l});
    plan.programs[0].calls.push_back({.block = 1, .layer = l});
  }
  return plan;
}

// 10,000 us each (2 rounds of half the buffer): longer kernels hide all reductions but the last,
// shorter ones only run ahead.
TEST(Hosts, CollectivesOverlapCompute) {
  const HostSystem hosts = free_hosts(2, 1);
  EXPECT_NEAR(step_us(overlapped(5, 15'000), hosts), (5 * 15'000 + 10'000), kRoundingUs);
  EXPECT_NEAR(step_us(overlapped(5, 6'000), hosts), (6'000 + 5 * 10'000), kRoundingUs);
}

void expect_as_in_the_sweep(Schedule schedule, std::int64_t p, std::int64_t v, std::int64_t m) {
  const Plan plan = equal_stages(schedule, p, v, m, 1000, 2000);
  const Cluster cluster = ideal_machine(p);
  const CostModel costs;
  const Timeline event = simulate_hosts(plan, free_hosts(1, p), work_of(plan, cluster, costs));
  SimulationOptions options;
  options.unfold = true;
  EXPECT_EQ(event.step_time, simulate(plan, cluster, costs, options).timeline.step_time)
      << p << " stages, " << v << " chunks, " << m << " microbatches";
}

TEST(Hosts, PipelinesTakeAsLongAsInTheSweep) {
  for (std::int64_t p : {1, 2, 3, 4}) {
    for (std::int64_t m : {1, 4, 7}) {
      expect_as_in_the_sweep(Schedule::kGpipe, p, 1, m);
      expect_as_in_the_sweep(Schedule::k1f1b, p, 1, m);
    }
  }
}

// Of two stages each is the other's next and previous one. What goes forward around the corner and
// what goes backward may be received in another order than it was sent.
TEST(Hosts, DirectionsOfTravelAreChannelsOfTheirOwn) {
  Plan plan = empty_plan(2, 1, 1);
  plan.tensors = {tensor("x", Scope::kMicrobatch), tensor("dx", Scope::kMicrobatch)};
  plan.blocks = {{"give_x", {send(0, true)}},
                 {"give_dx", {send(1, false)}},
                 {"take_x", {receive(0, true)}},
                 {"take_dx", {receive(1, false)}},
                 {"make_x", {kernel(matmul(1), {{0, Use::kWrite, 0}})}}};
  plan.programs[0].calls = {{.block = 2}, {.block = 3}};
  plan.programs[1].calls = {{.block = 1}, {.block = 4}, {.block = 0}};
  EXPECT_EQ(step_us(plan, free_hosts(1, 2)), 1);
}

TEST(Hosts, InterleavedPipelinesTakeAsLongAsInTheSweep) {
  for (std::int64_t p : {2, 3, 4}) expect_as_in_the_sweep(Schedule::kInterleaved, p, 2, 2 * p);
}

TEST(Hosts, AMachineFromACalibration) {
  ClusterSpec spec;
  spec.preset = "cpu-host", spec.nodes = 4, spec.devices_per_node = 2;
  spec.own_fabric = find_fabric("roce100");  // 12.5 GB/s
  spec.own_fabric->burst = Bytes(3 * 1514);
  const Cluster cluster = make_cluster(spec);
  Calibration measured;
  measured.cores = 3;
  measured.transports["tcp"].send = per_byte(1e-9);
  const HostSystem hosts = host_system(cluster, measured, "tcp", 2);
  EXPECT_EQ(hosts.hosts, 4);
  EXPECT_EQ(hosts.machines, 4);
  EXPECT_EQ(hosts.ranks_per_host, 2);
  EXPECT_EQ(hosts.cores, 3);
  EXPECT_NEAR(hosts.between.send.at(Bytes(1000)).value, 1e-6, 1e-15);
  // Of a frame of 1514 bytes TCP has 1448.
  const auto ports = static_cast<double>(cluster.nics_per_node);
  EXPECT_NEAR(hosts.link.rate.value, ports * 12.5e9 * 1448 / 1514, 1);
  EXPECT_NEAR(static_cast<double>(hosts.link.burst.value), ports * 3 * 1448, 1);
  EXPECT_GT(hosts.link.peak, hosts.link.rate);
  EXPECT_EQ(hosts.wire, route(cluster, 0, 2).latency);
}

TEST(Hosts, ATransportThatWasNotMeasuredIsRefused) {
  Calibration measured;
  measured.transports["mpi"] = {};
  try {
    host_system(ideal_machine(1), measured, "tcp", 1);  // which sends none
    host_system(ideal_machine(1), measured, "tcp", 2);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "S046");
    EXPECT_NE(e.text().expected.find("mpi"), std::string::npos);
    EXPECT_NE(e.text().cure.find("plait bench comm --transport tcp --ranks 2"), std::string::npos);
  }
}

// ---- plans that cannot go on
std::string host_diagnosis(const Plan& plan) {
  try {
    simulate_hosts(plan, free_hosts(1, plan.mesh.world_size()), microseconds_of);
  } catch (const InternalError& e) {
    return e.what();
  }
  return "";
}
bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(HostsBlocked, CrossedMessagesAreNamedByRankAndOp) {
  const std::string text = host_diagnosis(crossed_messages());
  EXPECT_TRUE(mentions(text,
                       "rank 0 waits at take_gradient, recv (layer 0, microbatch 0) for "
                       "rank 1"))
      << text;
  EXPECT_TRUE(mentions(text,
                       "rank 0 waits at make_x, matmul (layer 0, microbatch 0) for "
                       "take_gradient, recv"))
      << text;
  EXPECT_TRUE(mentions(text, "rank 1 waits at take_x, recv")) << text;
}

TEST(HostsBlocked, ARankThatFinishedIsNotNamed) {
  Plan plan = two_stages();
  plan.programs[0].calls.pop_back();  // the send
  const std::string text = host_diagnosis(plan);
  EXPECT_FALSE(mentions(text, "rank 0 waits")) << text;
  EXPECT_TRUE(mentions(text, "rank 1 waits at recv, recv")) << text;
}

TEST(HostsBlocked, ACollectiveWithoutAMemberNamesTheOthers) {
  Plan plan = one_all_reduce(2, 100);
  plan.mesh.size = {2, 1, 1, 1, 1, 1, 1, 1};
  std::get<Collective>(plan.blocks[1].ops[0].body).axes = Axis::kPp;
  plan.programs.resize(2);
  plan.programs[1].calls = {{.block = 0}};
  EXPECT_TRUE(mentions(host_diagnosis(plan),
                       "rank 0 waits at reduce, all_reduce (layer 0, microbatch "
                       "0) for ranks 1"))
      << host_diagnosis(plan);
}

TEST(HostsBlocked, TwoEndsOfDifferentSizeAreRefused) {
  Plan plan = one_message(1, 100);
  std::get<Recv>(plan.blocks[3].ops[0].body).bytes = Bytes(99);
  EXPECT_TRUE(mentions(host_diagnosis(plan), "rank 0 sends something else than rank 1 expects"));
}

}  // namespace plait::event_hosts_test
