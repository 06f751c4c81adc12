// Step times that can be written down: pipelines of equal stages, and a reduction behind compute.
#include <gtest/gtest.h>

#include <algorithm>

#include "costmodel/held_multiprocessors.h"
#include "plan/steady_step.h"
#include "sim/explain.h"
#include "sim/simulate.h"
#include "sim/slowed.h"
#include "tests/sim/cases.h"
#include "tests/sim/hand_made.h"

namespace plait::oracles_test {

/// Of one kernel on the ideal machine.
SimTime time_of(std::int64_t k) {
  return to_sim_time(CostModel().compute(matmul(k), ideal_machine(1).device).total());
}
/// Share of the step in which a mean stage computes nothing: "bubble" while it waits for a message,
/// "idle" once it has nothing more to do and others have.
double waiting_share(const Plan& plan, const Simulation& sim) {
  Seconds waiting;
  for (const Share& s : explain(plan, sim).breakdown) {
    if (s.group == "bubble" || s.group == "idle") waiting += s.time;
  }
  return waiting / to_seconds(sim.timeline.step_time);
}

struct Shape {
  std::int64_t stages, microbatches;
};
constexpr Shape kShapes[] = {{1, 3}, {2, 1}, {2, 2}, {2, 5}, {3, 3}, {4, 8}, {4, 3}, {8, 32}};
constexpr std::int64_t kF = 1000, kB = 2000;  // the backward kernel does twice the work

// The last stage gets its first microbatch after (p - 1) f, works for m (f + b), and its last
// gradient needs (p - 1) b to the first stage: (m + p - 1)(f + b). Each stage computes for m
// (f + b), so the rest, (p - 1) of m + p - 1 parts, is bubble (Huang et al. 2019, section 2.3).
class EqualStages : public testing::TestWithParam<Schedule> {};
TEST_P(EqualStages, MakespanIsMPlusPMinusOneRounds) {
  for (const auto& [p, m] : kShapes) {
    const Plan plan = equal_stages(GetParam(), p, 1, m, kF, kB);
    const Simulation sim = simulate(plan, ideal_machine(p), {});
    EXPECT_EQ(sim.timeline.step_time, (m + p - 1) * (time_of(kF) + time_of(kB)))
        << p << " stages, " << m << " microbatches";
    EXPECT_NEAR(waiting_share(plan, sim),
                static_cast<double>(p - 1) / static_cast<double>(m + p - 1), 1e-9);
  }
}
INSTANTIATE_TEST_SUITE_P(Schedules, EqualStages,
                         testing::Values(Schedule::kGpipe, Schedule::k1f1b));

// With v chunks per stage a round is one chunk's, so filling and draining takes (p - 1)(f + b) of
// chunk times beside the v m of work: a bubble of (p - 1) / (v m) of the work (Narayanan et al.
// 2021, section 2.2).
TEST(Interleaved, BubbleShrinksByTheNumberOfChunks) {
  for (const auto& [p, m] : kShapes) {
    if (p < 2 || m % p != 0) continue;
    for (std::int64_t v : {2, 3}) {
      const Plan plan = equal_stages(Schedule::kInterleaved, p, v, m, kF, kB);
      const Simulation sim = simulate(plan, ideal_machine(p), {});
      const SimTime chunk = time_of(kF) + time_of(kB);
      EXPECT_EQ(sim.timeline.step_time, (v * m + p - 1) * chunk)
          << p << " stages, " << v << " chunks, " << m << " microbatches";
      const double bubble = waiting_share(plan, sim);
      EXPECT_NEAR(bubble / (1 - bubble), static_cast<double>(p - 1) / static_cast<double>(v * m),
                  1e-9);
    }
  }
}

// The zero-bubble schedules put W where a stage waits (Qi et al. 2023, table 2). From a stage's
// first forward to its end ZB-H1 takes (p - 1)(f + b - w) more than its work, ZB-H2 (p - 1)(f + b -
// 2 w). That is the time from step to step; a single one is not over before the last stage, which
// begins (p - 1) f late.
TEST(ZeroBubble, WeightGradientsFillTheWaits) {
  for (const std::int64_t k : {1500, 1000}) {  // B's work, with W's and F's: f + b - 2 w > 0, = 0
    const SimTime f = time_of(1000), b = time_of(k), w = time_of(1000);
    for (const std::int64_t p : {2, 4}) {
      const std::int64_t m = 3 * p, busy = m * (f + b + w);
      const auto expect = [&](Schedule kind, SimTime step, SimTime alone) {
        const Plan plan = equal_stages(kind, p, 1, m, 1000, k, 1000);
        const Timeline timeline = simulate(plan, ideal_machine(p), {}).timeline;
        EXPECT_EQ(steady_step(plan, timeline) - busy, (p - 1) * step) << p;
        EXPECT_EQ(timeline.step_time - busy, (p - 1) * alone) << p;
      };
      expect(Schedule::kZbH1, f + b - w, f + b - w);
      expect(Schedule::kZbH2, f + b - 2 * w, std::max(f, f + b - 2 * w));
    }
  }
}

// Section 6: with two chunks per stage in a V and equal passes no stage waits at all between its
// first pass and its last one, in the memory of 1F1B. A step alone is not over before the last
// stage, which begins p - 1 passes late.
TEST(ZeroBubble, VHasNoneWherePassesAreEqual) {
  for (const std::int64_t p : {2, 4}) {
    const std::int64_t m = 3 * p;
    const Plan plan = equal_stages(Schedule::kZbV, p, 2, m, 1000, 1000, 1000);
    const Timeline timeline = simulate(plan, ideal_machine(p), {}).timeline;
    const SimTime busy = 2 * m * 3 * time_of(1000);
    EXPECT_EQ(steady_step(plan, timeline), busy) << p;
    EXPECT_EQ(timeline.step_time, busy + (p - 1) * time_of(1000)) << p;
  }
}

// DeepSeek-AI 2024, table 2, with equal passes and F&B = F + B: (p / 2 - 1) (F&B + B - 3 W), B with
// W, is one pass a stage of either half. A stage does half of the microbatches in each direction.
TEST(DualPipe, EitherHalfWaitsForOnePassAStage) {
  for (const std::int64_t p : {2, 4, 8}) {
    const std::int64_t m = 4 * p;
    const Plan plan = equal_stages(Schedule::kDualPipe, p, 2, m, 1000, 1000, 1000);
    const Timeline timeline = simulate(plan, ideal_machine(p), {}).timeline;
    EXPECT_EQ(steady_step(plan, timeline), (3 * m + p / 2 - 1) * time_of(1000)) << p;
  }
}

TEST(Sequential, OneStageWorksAtATime) {
  for (const auto& [p, m] : kShapes) {
    const Plan plan = equal_stages(Schedule::kSequential, p, 1, m, kF, kB);
    EXPECT_EQ(simulate(plan, ideal_machine(p), {}).timeline.step_time,
              m * p * (time_of(kF) + time_of(kB)));
  }
}

TEST(SteadyStep, IsTheStepWhereTheFirstStageEndsLastOrStagesWaitForOneAnother) {
  for (const Schedule kind : {Schedule::kGpipe, Schedule::k1f1b}) {
    const Plan plan = equal_stages(kind, 4, 1, 8, kF, kB);
    const Timeline timeline = simulate(plan, ideal_machine(4), {}).timeline;
    EXPECT_EQ(steady_step(plan, timeline), timeline.step_time);
  }
  Plan plan = equal_stages(Schedule::kZbH2, 4, 1, 12, kF, kF, kF);
  Collective norm;
  norm.axes = Axis::kPp, norm.elements = 1;
  plan.tensors.push_back(tensor("norm", Scope::kRole));
  plan.blocks.push_back({"norm",
                         {{norm,
                           Stream::kGradSync,
                           Phase::kOptimizer,
                           {{static_cast<TensorId>(plan.tensors.size() - 1), Use::kUpdate, 0}}}}});
  for (Program& p : plan.programs) {
    p.calls.push_back({.block = static_cast<BlockId>(plan.blocks.size() - 1)});
  }
  const Timeline timeline = simulate(plan, ideal_machine(4), {}).timeline;
  EXPECT_EQ(steady_step(plan, timeline), timeline.step_time);
}

/// `layers` backward kernels of `k`, each followed by the reduction of its gradient over four
/// replicas: at once on its own stream, or all of them behind the last kernel.
Plan data_parallel(std::int64_t layers, std::int64_t k, bool overlap) {
  Plan plan = empty_plan(1, layers, 1);
  plan.mesh[Axis::kDp] = 4;
  plan.tensors = {tensor("gradient", Scope::kLayer)};
  Collective c;
  c.axes = Axis::kDp;
  c.elements = 1 << 22;
  plan.blocks = {{"backward", {kernel(matmul(k), {{0, Use::kWrite, 0}}, Phase::kBackward)}},
                 {"reduce", {{c, Stream::kGradSync, Phase::kGradSync, {{0, Use::kUpdate, 0}}}}}};
  std::vector<Call>& calls = plan.programs[0].calls;
  const auto last = static_cast<std::int32_t>(layers - 1);
  std::vector<Call> late;
  for (std::int32_t l = last; l >= 0; --l) {
    calls.push_back({.block = 0, .layer = l});
    const Call reduce{.block = 1, .layer = l, .after = overlap ? -1 : last};
    (overlap ? calls : late).push_back(reduce);
  }
  calls.insert(calls.end(), late.begin(), late.end());
  return plan;
}
SimTime reduction_time(const Plan& plan, const Cluster& cluster) {
  const std::vector<std::int64_t> devices = {0, 1, 2, 3};
  const auto& c = std::get<Collective>(plan.blocks[1].ops[0].body);
  return to_sim_time(
      CostModel().collective(c, place_group(cluster, devices), cluster).cost.total());
}

// Reductions that are shorter than a kernel hide behind the next one, all but the last; longer
// ones queue up behind the first kernel.
TEST(DataParallel, TheStepIsComputePlusExposedReduction) {
  constexpr std::int64_t kLayers = 5;
  const Cluster cluster = ideal_machine(4);
  SimulationOptions undisturbed;
  undisturbed.interference = false;
  for (std::int64_t k : {1, 100, 100000}) {
    const Plan plan = data_parallel(kLayers, k, true);
    const SimTime b = time_of(k), r = reduction_time(plan, cluster);
    const SimTime exposed = r <= b ? r : b + kLayers * r - kLayers * b;
    EXPECT_EQ(simulate(plan, cluster, {}, undisturbed).timeline.step_time, kLayers * b + exposed)
        << k;
  }
  const Plan hidden = data_parallel(kLayers, 100000, true);
  EXPECT_LT(reduction_time(hidden, cluster), time_of(100000));  // both cases occur above
  EXPECT_GT(reduction_time(hidden, cluster), time_of(1));
}

// A reduction of r holds h of S multiprocessors beside the next kernel: for that long the kernel
// does (S - h) / S of what it does alone, so it takes r h / S longer. The first kernel has
// none beside it, and the last reduction no kernel.
TEST(DataParallel, AReductionTakesItsMultiprocessorsFromTheNextKernel) {
  constexpr std::int64_t kLayers = 5;
  const Cluster cluster = ideal_machine(4);
  const Plan plan = data_parallel(kLayers, 100000, true);
  const GroupPlacement group = place_group(cluster, std::vector<std::int64_t>{0, 1, 2, 3});
  const NodeKind& node = cluster.kind(0);
  const auto& c = std::get<Collective>(plan.blocks[1].ops[0].body);
  const Algorithm algorithm = CostModel().collective(c, group, cluster).algorithm;
  const int held = held_multiprocessors(c, algorithm, group, node, nullptr);
  const SimTime b = time_of(100000), r = reduction_time(plan, cluster);
  ASSERT_GT(held, 0);
  ASSERT_LT(r, b);
  const double slower = static_cast<double>(r) * held / node.device.sms;
  const double step = static_cast<double>(kLayers * b + r) + (kLayers - 1) * slower;
  // Each kernel rounds up where the collective begins and where it ends.
  EXPECT_NEAR(static_cast<double>(simulate(plan, cluster, {}).timeline.step_time), step,
              2 * kLayers);
}

// With all times so much longer that multiprocessors times picoseconds are more than 2^63.
TEST(DataParallel, AReductionOfDaysIsStillWhatSlowsTheNextKernel) {
  const Cluster cluster = ideal_machine(4);
  const Plan plan = data_parallel(2, 100000, true);
  Simulation run = simulate(plan, cluster, {});
  Track& track = run.timeline.tracks[0];
  const int held = run.durations->held(0, 0, run.durations->op_id(1, 0));
  const double product = static_cast<double>(track.end[1] - track.start[1]) * held;
  const auto longer = static_cast<SimTime>(1.2e19 / product);
  for (std::size_t i = 0; i < track.end.size(); ++i)
    track.start[i] *= longer, track.end[i] *= longer;
  EXPECT_EQ(Slowed(RecordedStep(plan, run)).by(0, 2), 1U);
}

TEST(DataParallel, WithoutOverlapEveryReductionIsExposed) {
  constexpr std::int64_t kLayers = 5;
  const Cluster cluster = ideal_machine(4);
  const Plan plan = data_parallel(kLayers, 1000, false);
  EXPECT_EQ(simulate(plan, cluster, {}).timeline.step_time,
            kLayers * (time_of(1000) + reduction_time(plan, cluster)));
}

// No jitter, no contention: a collective in a plan takes what the cost model says of its group.
TEST(DataParallel, AnAllReduceTakesTheCostModelsTime) {
  const Cluster cluster = ideal_machine(4);
  const Plan plan = data_parallel(1, 1, true);
  const Track track = simulate(plan, cluster, {}).timeline.tracks.at(0);
  EXPECT_EQ(track.end[1] - track.start[1], reduction_time(plan, cluster));
}

// Two ranks that share out the experts, and exchanges that take less than what is computed between
// them: of m microbatches all but the first forward and the last backward pass are in pairs, whose
// exchanges hide; parts that end sooner than the other pass's exchange leave a little of it.
TEST(ExchangeOverlap, OnlyTheFirstAndTheLastPassWaitForExchanges) {
  constexpr std::int64_t kMicrobatches = 8;
  Case c = small_case(1, 1, 1, 1);
  c.model.hidden = c.model.ffn_hidden = 2048, c.model.heads = c.model.kv_heads = 16;
  c.model.head_dim = 128;
  c.model.experts = 4, c.model.experts_per_token = 2, c.model.expert_ffn_hidden = 4096;
  c.strategy.mesh[Axis::kEp] = 2;
  c.workload.sequence_length = 2048, c.workload.global_batch = 2 * kMicrobatches;
  c.machine.devices_per_node = 2;
  const auto waiting = [&](ExchangeOverlap overlap) {
    c.strategy.pipeline.exchange_overlap = overlap;
    const Plan plan = c.plan();
    for (const Share& s : explain(plan, simulate(plan, c.cluster(), c.costs())).breakdown) {
      if (s.name == "ep") return s.time;
    }
    return Seconds();
  };
  const Seconds alone = waiting(ExchangeOverlap::kNone), paired = waiting(ExchangeOverlap::kPasses);
  EXPECT_GE(paired / alone, 1.0 / kMicrobatches);
  EXPECT_LT(paired / alone, 1.5 / kMicrobatches);
}

}  // namespace plait::oracles_test
