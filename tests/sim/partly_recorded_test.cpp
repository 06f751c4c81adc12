// Of a large unfolded world only the first lanes of each stage are recorded.
#include <gtest/gtest.h>

#include "sim/explain.h"
#include "tests/sim/cases.h"

namespace plait::partly_recorded_test {

/// 2 stages of 1,024 lanes, with several thousand ops each: more spans than are recorded. The first
/// stage has more layers than the last.
Case large_case() {
  Case c = small_case(2, 1024, 1, 1);
  c.model.layers = 34;
  c.strategy.pipeline.first_stage_layers = 30, c.strategy.pipeline.last_stage_layers = 4;
  c.workload.global_batch = 8 * 1024;
  c.machine.nodes = 256;
  c.machine.devices_per_node = 8;
  return c;
}

struct Recording {
  Plan plan = large_case().plan();
  Simulation folded, partly;
  Recording() {
    const Cluster cluster = large_case().cluster();
    folded = simulate(plan, cluster, {});
    SimulationOptions options;
    options.unfold = true;
    partly = simulate(plan, cluster, {}, options);
  }
};
const Recording& recording() {
  static const Recording r;
  return r;
}

TEST(PartlyRecorded, EveryStageHasItsFirstLanesAndNotAll) {
  const std::vector<Track>& tracks = recording().partly.timeline.tracks;
  const std::size_t stages = recording().plan.programs.size();
  ASSERT_EQ(tracks.size() % stages, 0U) << "explain() finds a lane's track by division";
  const std::size_t per_stage = tracks.size() / stages;
  EXPECT_LT(per_stage, static_cast<std::size_t>(recording().plan.places_per_stage()));
  for (std::size_t t = 0; t < tracks.size(); ++t) {
    EXPECT_EQ(tracks[t].stage, static_cast<std::int64_t>(t / per_stage));
    EXPECT_EQ(tracks[t].rank, tracks[t].stage * recording().plan.places_per_stage() +
                                  static_cast<std::int64_t>(t % per_stage));
  }
}

// All devices are equal, so every rank has the times of its stage's one rank class.
TEST(PartlyRecorded, WhatIsRecordedIsRight) {
  const Recording& r = recording();
  EXPECT_EQ(r.partly.timeline.step_time, r.folded.timeline.step_time);
  for (const Track& t : r.partly.timeline.tracks) {
    const Track& like = r.folded.timeline.tracks[static_cast<std::size_t>(t.stage)];
    ASSERT_EQ(t.start, like.start) << "rank " << t.rank;
    ASSERT_EQ(t.end, like.end) << "rank " << t.rank;
  }
}

TEST(PartlyRecorded, TheExplanationStillSumsToTheStep) {
  const Explanation e = explain(recording().plan, recording().partly);
  const double step = to_seconds(recording().partly.timeline.step_time).value;
  double breakdown = 0, path = 0;
  for (const Share& s : e.breakdown) breakdown += s.time.value;
  for (const Share& s : e.critical_path) path += s.time.value;
  EXPECT_NEAR(breakdown, step, 1e-9 * step);
  EXPECT_NEAR(path, step, 1e-9 * step);
}

/// With the last device of the longer stage, which is of no recorded lane, slower by half.
struct BehindAStraggler {
  Plan plan;
  Simulation folded, partly;
  BehindAStraggler() {
    Case c = large_case();
    c.machine.slowdowns = {{1023, 1.5}};
    plan = c.plan();
    folded = simulate(plan, c.cluster(), {});
    SimulationOptions options;
    options.unfold = true;
    partly = simulate(plan, c.cluster(), {}, options);
  }
};

double time_of(const std::vector<Share>& shares, const std::string& group) {
  double out = 0;
  for (const Share& s : shares) out += s.group == group ? s.time.value : 0;
  return out;
}

// Who waits for a rank that is not recorded did the same as that rank, and sooner: the path goes
// along it. What it waited is nobody's.
TEST(PartlyRecorded, ThePathGoesOnAlongWhatIsRecorded) {
  const BehindAStraggler r;
  ASSERT_EQ(r.partly.timeline.step_time, r.folded.timeline.step_time);
  ASSERT_LT(r.partly.timeline.tracks.size(), r.plan.programs.size() * r.partly.lanes->count());
  const Explanation whole = explain(r.plan, r.folded), e = explain(r.plan, r.partly);
  const double step = to_seconds(r.partly.timeline.step_time).value;
  double path = 0;
  for (const Share& s : e.critical_path) path += s.time.value;
  EXPECT_NEAR(path, step, 1e-9 * step);
  EXPECT_EQ(time_of(e.critical_path, "idle"), 0);
  const double waited = time_of(e.critical_path, "bubble");
  EXPECT_GT(waited, 0);
  EXPECT_LT(waited, step / 2);
  EXPECT_EQ(time_of(whole.critical_path, "bubble"), 0);
  EXPECT_EQ(e.bound_by, whole.bound_by);
}

// Where few devices are alike, folding leaves nearly as many lanes; the one that all wait for is
// among those that are recorded, and the path has no gaps.
TEST(PartlyRecorded, TheSlowestLanesAreRecordedFirst) {
  Case c = large_case();
  for (std::int64_t d = 0; d < 1000; ++d) {
    c.machine.slowdowns.push_back({d, 1 + 1e-5 * static_cast<double>(d + 1)});
  }
  c.machine.slowdowns.push_back({1023, 1.5});
  const Plan plan = c.plan();
  const Simulation sim = simulate(plan, c.cluster(), {});
  ASSERT_LT(sim.timeline.tracks.size(), plan.programs.size() * sim.lanes->count());
  EXPECT_EQ(sim.timeline.tracks.front().rank, 1023);
  const Explanation e = explain(plan, sim);
  EXPECT_EQ(time_of(e.critical_path, "bubble"), 0);
}

}  // namespace plait::partly_recorded_test
