// Steps of stages that differ in their tensor-parallel degree.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "plan/places.h"
#include "sim/simulate.h"
#include "tests/sim/cases.h"
#include "tests/sim/event_cases.h"

namespace plait::stage_tp_test {

using TpOfStages = std::vector<std::int64_t>;

/// On one node of H100s, four microbatches.
Case case_of(const TpOfStages& tp, std::int64_t dp = 1) {
  const auto stages = static_cast<std::int64_t>(tp.size());
  Case c = small_case(stages, dp, 1, std::ranges::max(tp));
  c.strategy.pipeline.stage_tp = tp;
  c.model.layers = 2 * stages;
  c.workload.global_batch = 4 * dp;
  c.machine.devices_per_node = std::accumulate(tp.begin(), tp.end(), std::int64_t{0}) * dp;
  return c;
}
/// As many devices as before, in nodes of `each`.
Case in_nodes_of(std::int64_t each, Case c) {
  c.machine.nodes = *c.machine.devices_per_node / each;
  c.machine.devices_per_node = each;
  return c;
}

Simulation run(const Case& c, bool unfold = false) {
  SimulationOptions options;
  options.unfold = unfold, options.record = true, options.placement = c.placement;
  return simulate(c.plan(), c.cluster(), c.costs(), options);
}

void expect_folding_is_exact(const Case& c) {
  const Simulation folded = run(c), all = run(c, true);
  EXPECT_EQ(folded.timeline.step_time, all.timeline.step_time);
  EXPECT_LE(folded.rank_classes, all.rank_classes);
  const Plan plan = c.plan();
  for (const Simulation* s : {&folded, &all}) {  // every rank is counted once
    std::vector<std::int64_t> ranks(plan.programs.size(), 0);
    for (const Track& t : s->timeline.tracks) {
      EXPECT_EQ(t.stage, stage_of_rank(plan, t.rank));
      ranks[static_cast<std::size_t>(t.stage)] += t.multiplicity;
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      EXPECT_EQ(ranks[i], ranks_of_stage(plan, static_cast<std::int64_t>(i)));
    }
  }
}

/// All that the tracks of one rank of the unfolded run say, which are one for each of its places.
void expect_places_agree(const Case& c) {
  const Simulation all = run(c, true);
  std::map<std::int64_t, Instants> ends;
  for (const Track& t : all.timeline.tracks) {
    const auto [at, fresh] = ends.try_emplace(t.rank, t.end);
    EXPECT_TRUE(fresh || at->second == t.end) << "rank " << t.rank;
  }
}

TEST(StageTp, FoldingIsExact) {
  for (const TpOfStages& tp :
       {TpOfStages{2, 1}, TpOfStages{1, 2}, TpOfStages{4, 2, 2}, TpOfStages{1, 4, 2}}) {
    expect_folding_is_exact(case_of(tp));
    expect_folding_is_exact(case_of(tp, 2));
    const Case c = case_of(tp, 4);
    expect_folding_is_exact(in_nodes_of(*c.machine.devices_per_node / 2, c));
  }
}

TEST(StageTp, PlacesOfARankNeverPart) {
  Case c = in_nodes_of(2, case_of({1, 4, 1}, 2));
  expect_places_agree(c);
  c.machine.slowdowns = {{0, 1.5}, {5, 1.2}};
  expect_places_agree(c), expect_folding_is_exact(c);
  c.machine.jitter = 0.1;
  expect_places_agree(c), expect_folding_is_exact(c);
  c.placement = {3, 1, 0, 2, 7, 4, 5, 6, 11, 9, 10, 8};
  expect_places_agree(c), expect_folding_is_exact(c);
}

// Four ranks of two microbatches' parts each have one peer, whose link the whole stream comes in
// through; the other way it goes out through that link, to each of the four.
TEST(StageTp, AMessageTakesAsLongAsTheBusierEndNeeds) {
  const auto time_of = [](const TpOfStages& tp) {
    const Case c = case_of(tp);
    const Plan plan = c.plan();
    const Simulation s = run(c);
    const Track& track = s.timeline.tracks.at(0);
    std::int64_t flat = 0;
    for (const Call& call : plan.programs[0].calls) {
      for (const Op& op : plan.blocks[call.block].ops) {
        if (std::holds_alternative<Send>(op.body)) {
          const auto i = static_cast<std::size_t>(flat);
          return track.end[i] - track.start[i];
        }
        ++flat;
      }
    }
    return SimTime{0};
  };
  const Case c = case_of({4, 1});
  const Bytes stream(24 * 96 * 2);  // s b h of two bytes
  const Cluster cluster = c.cluster();
  const auto transfer = [&](std::int64_t streams) {
    return to_sim_time(
        c.costs().transfer(Bytes(stream.value * streams), route(cluster, 0, 1)).total());
  };
  EXPECT_EQ(time_of({4, 1}), transfer(1));
  EXPECT_EQ(time_of({2, 2}), transfer(1));
  EXPECT_EQ(time_of({1, 4}), transfer(4));
}

// On devices of one kind a stage of twice the ranks does the same layers in less time, so a
// pipeline ends earlier where its slowest stage has more of them.
TEST(StageTp, MoreRanksForTheStageWithMoreLayersHelp) {
  const auto step = [](const TpOfStages& tp) {
    Case c = case_of(tp);
    c.model.hidden = 3072, c.model.ffn_hidden = 8192, c.model.head_dim = 256;
    c.workload.sequence_length = 2048;
    c.strategy.pipeline.stage_layers = {3, 1};
    return run(c).timeline.step_time;
  };
  EXPECT_LT(step({2, 1}), step({1, 2}));
}

// The slow node's stage decides, wherever it is; two ranks for it make up for half the speed.
TEST(StageTp, AStageOnSlowerDevicesMayHaveMoreOfThem) {
  Case c = case_of({2, 1});
  c.model.hidden = 3072, c.model.ffn_hidden = 8192, c.model.head_dim = 256;
  c.workload.sequence_length = 2048;
  c = in_nodes_of(1, c);
  const SimTime alike = run(c).timeline.step_time;
  c.machine.other_nodes = {slower_nodes(0, 1, find_node("hgx-h100"), 0.5)};
  const SimTime slow_pair = run(c).timeline.step_time;
  c.machine.other_nodes = {slower_nodes(2, 2, find_node("hgx-h100"), 0.5)};
  const SimTime slow_single = run(c).timeline.step_time;
  EXPECT_LT(alike, slow_pair);
  EXPECT_LT(slow_pair, slow_single);
}

/// Flat ops of `stage` that are messages of kind M of activations.
template <class M>
std::vector<std::size_t> activations(const Plan& plan, std::size_t stage) {
  std::vector<std::size_t> out;
  std::size_t flat = 0;
  for (const Call& call : plan.programs[stage].calls) {
    for (const Op& op : plan.blocks[call.block].ops) {
      if (std::holds_alternative<M>(op.body) && op.phase == Phase::kForward) out.push_back(flat);
      ++flat;
    }
  }
  return out;
}

// On processors, where all ranks are simulated one by one and kernels take a microsecond each.
TEST(StageTp, AReceiveOnHostsEndsBehindAllOfItsSends) {
  for (const TpOfStages& tp : {TpOfStages{4, 2}, TpOfStages{1, 4}}) {
    const Plan plan = case_of(tp, 2).plan();
    HostSystem system = free_hosts(1, rank_count(plan));
    system.within.latency = Seconds(1e-6);
    const Timeline t =
        simulate_hosts(plan, system, [](const Op&, std::int64_t) { return Seconds(1e-6); });
    ASSERT_EQ(t.tracks.size(), static_cast<std::size_t>(rank_count(plan)));
    const std::vector<std::size_t> sends = activations<Send>(plan, 0),
                                   receives = activations<Recv>(plan, 1);
    ASSERT_EQ(sends.size(), receives.size());
    for (std::int64_t r = 0; r < rank_count(plan); ++r) {
      if (stage_of_rank(plan, r) == 0) continue;
      for (std::size_t i = 0; i < sends.size(); ++i) {
        for (const std::int64_t from : peers(plan, r, Axis::kPp, -1)) {
          EXPECT_GT(t.tracks[static_cast<std::size_t>(r)].end[receives[i]],
                    t.tracks[static_cast<std::size_t>(from)].start[sends[i]]);
        }
      }
    }
  }
}

}  // namespace plait::stage_tp_test
