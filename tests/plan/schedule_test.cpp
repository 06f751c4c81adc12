#include "plan/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "tests/plan/pass_walk.h"

namespace plait::schedule_test {

char letter(const Task& t) { return "FBW"[static_cast<int>(t.pass)]; }

/// "F0 B0" (microbatch), or with several chunks "F0.1" (chunk.microbatch).
std::string text(const std::vector<Task>& tasks, bool chunks = false) {
  std::string out;
  for (const Task& t : tasks) {
    if (!out.empty()) out += ' ';
    out += letter(t);
    if (chunks) out += std::to_string(t.chunk) + ".";
    out += std::to_string(t.microbatch);
  }
  return out;
}

TEST(Gpipe, AllForwardsComeBeforeAllBackwardsOnEveryStage) {
  for (std::int64_t stage : {0, 1}) {
    EXPECT_EQ(text(schedule(Schedule::kGpipe, 2, stage, 1, 3)), "F0 F1 F2 B0 B1 B2");
  }
}

TEST(OneForwardOneBackward, ThreeStagesOfFourMicrobatches) {
  // Narayanan et al. 2019, figure 4: p - s - 1 forwards ahead, then pairs, then the rest.
  EXPECT_EQ(text(schedule(Schedule::k1f1b, 3, 0, 1, 4)), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(text(schedule(Schedule::k1f1b, 3, 1, 1, 4)), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(text(schedule(Schedule::k1f1b, 3, 2, 1, 4)), "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST(OneForwardOneBackward, FewerMicrobatchesThanStagesAreAllWarmUp) {
  EXPECT_EQ(text(schedule(Schedule::k1f1b, 4, 0, 1, 2)), "F0 F1 B0 B1");
}

TEST(Interleaved, TwoStagesOfTwoChunks) {
  // Narayanan et al. 2021, section 2.2: forwards go p microbatches through chunk 0, then the same
  // through chunk 1; backwards the same from the last chunk. Warm-up 2 (p - s - 1) + (v - 1) p.
  EXPECT_EQ(text(schedule(Schedule::kInterleaved, 2, 0, 2, 4), true),
            "F0.0 F0.1 F1.0 F1.1 "
            "F0.2 B1.0 F0.3 B1.1 F1.2 B0.0 F1.3 B0.1 "
            "B1.2 B1.3 B0.2 B0.3");
  EXPECT_EQ(text(schedule(Schedule::kInterleaved, 2, 1, 2, 4), true),
            "F0.0 F0.1 "
            "F1.0 B1.0 F1.1 B1.1 F0.2 B0.0 F0.3 B0.1 F1.2 B1.2 F1.3 B1.3 "
            "B0.2 B0.3");
}

TEST(Interleaved, GroupsOfThreeAndTheTwoThatAreLeft) {
  // Megatron-LM, schedules.py, get_schedule_table: three microbatches through chunk 0, then through
  // chunk 1, then the last two. Warm-up 2 (p - s - 1) + (v - 1) group.
  const PipelineOptions threes = {
      .schedule = Schedule::kInterleaved, .chunks = 2, .microbatch_group = 3};
  const auto stages = schedule(threes, 2, 5);
  EXPECT_EQ(text(stages[0], true),
            "F0.0 F0.1 F0.2 F1.0 F1.1 "
            "F1.2 B1.0 F0.3 B1.1 F0.4 B1.2 F1.3 B0.0 F1.4 B0.1 "
            "B0.2 B1.3 B1.4 B0.3 B0.4");
  EXPECT_EQ(text(stages[1], true),
            "F0.0 F0.1 F0.2 "
            "F1.0 B1.0 F1.1 B1.1 F1.2 B1.2 F0.3 B0.0 F0.4 B0.1 F1.3 B0.2 F1.4 B1.3 "
            "B1.4 B0.3 B0.4");
}

TEST(Interleaved, GroupsFitThatHaveAMicrobatchForEveryStage) {
  const auto fit = [](std::int64_t group, std::int64_t stages, std::int64_t microbatches) {
    return groups_fit({.microbatch_group = group}, stages, microbatches);
  };
  EXPECT_TRUE(fit(0, 4, 8)) << "as many as there are stages";
  EXPECT_FALSE(fit(0, 4, 6)) << "two are left over";
  EXPECT_FALSE(fit(3, 4, 8));
  EXPECT_TRUE(fit(6, 4, 10));
  EXPECT_FALSE(fit(6, 4, 8));
  EXPECT_FALSE(fit(12, 4, 8)) << "more than there are";
  EXPECT_EQ(fitting_group(4, 8), 4);
  EXPECT_EQ(fitting_group(4, 10), 5);
  EXPECT_EQ(fitting_group(4, 3), 0);
}

RC_GTEST_PROP(Interleaved, NoStageWaitsWithAnyGroupsThatFit, ()) {
  const auto stages = *rc::gen::inRange<std::int64_t>(2, 5);
  const auto microbatches = *rc::gen::inRange<std::int64_t>(stages, 14);
  PipelineOptions p = {.schedule = Schedule::kInterleaved, .chunks = 2};
  p.chunks = *rc::gen::inRange<std::int64_t>(2, 4);
  p.microbatch_group = *rc::gen::inRange<std::int64_t>(stages, microbatches + 1);
  RC_PRE(groups_fit(p, stages, microbatches));
  const PassTicks t{10, 20, 0, 0};
  const Walked walk = walk_passes(p, stages, microbatches, t);
  // As with groups of as many as there are stages: no stage waits between its passes.
  RC_ASSERT(walk.end == (microbatches * p.chunks + stages - 1) * (t.f + t.b));
}

TEST(SingleStage, EveryScheduleWithoutWarmUpAlternates) {
  EXPECT_EQ(text(schedule(Schedule::k1f1b, 1, 0, 1, 2)), "F0 B0 F1 B1");
}

struct Pipeline {
  Schedule kind;
  std::int64_t stages, stage, chunks, microbatches;
  std::vector<Task> tasks() const { return schedule(kind, stages, stage, chunks, microbatches); }
};

Pipeline any_pipeline_of(const ScheduleKind& kind) {
  Pipeline p{};
  p.kind = kind.schedule;
  p.stages = *rc::gen::inRange<std::int64_t>(kind.fewest_stages, 6);
  if (kind.shape == PipelineShape::kBothWays) p.stages = p.stages / 2 * 2;
  p.stage = *rc::gen::inRange<std::int64_t>(0, p.stages);
  const std::int64_t most = std::min<std::int64_t>(kind.most_chunks, 4);
  p.chunks = *rc::gen::inRange<std::int64_t>(kind.fewest_chunks, most + 1);
  const bool in_groups = p.kind == Schedule::kInterleaved;
  p.microbatches = *rc::gen::inRange<std::int64_t>(1, 9) * (in_groups ? p.stages : 1);
  return p;
}

Pipeline any_pipeline() { return any_pipeline_of(*rc::gen::elementOf(kSchedules)); }
Pipeline any_pipeline(std::initializer_list<Schedule> of) {
  return any_pipeline_of(kind_of(*rc::gen::elementOf(std::vector<Schedule>(of))));
}

TEST(Schedules, StandInTheTableInTheirOrder) {
  for (std::size_t i = 0; i < kSchedules.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kSchedules[i].schedule), i);
  }
}

TEST(Sequential, OneStageWorksAtATime) {
  // m times down and up p stages, with a message between each two.
  const PassTicks t{10, 20, 0, 1};
  for (const std::int64_t p : {1, 2, 4}) {
    for (const std::int64_t m : {1, 3}) {
      EXPECT_EQ(walk_passes({.schedule = Schedule::kSequential}, p, m, t).end,
                m * (p * (t.f + t.b) + 2 * (p - 1) * t.message));
    }
  }
}

RC_GTEST_PROP(ScheduleProperty, EveryPieceRunsItsPassesOnceAndInOrder, ()) {
  const Pipeline p = any_pipeline();
  std::map<std::pair<int, int>, std::string> passes;
  for (const Task& t : p.tasks()) passes[{t.chunk, t.microbatch}] += letter(t);
  // Both ways, a microbatch meets one of the two chunks.
  const bool one = kind_of(p.kind).shape == PipelineShape::kBothWays;
  RC_ASSERT(static_cast<std::int64_t>(passes.size()) == (one ? 1 : p.chunks) * p.microbatches);
  const std::string expected = splits_backward(p.kind) ? "FBW" : "FB";
  for (const auto& [piece, order] : passes) RC_ASSERT(order == expected);
}

/// Forwards before the first backward.
std::int64_t forwards_ahead(const std::vector<Task>& tasks) {
  const auto first = std::find_if(tasks.begin(), tasks.end(),
                                  [](const Task& t) { return t.pass != TaskPass::kForward; });
  return first - tasks.begin();
}

RC_GTEST_PROP(ScheduleProperty, InFlightIsMicrobatchesInGpipeAndStagesLeftIn1f1b, ()) {
  const Pipeline p = any_pipeline({Schedule::kGpipe, Schedule::k1f1b});
  const std::int64_t left = p.stages - p.stage;
  const std::int64_t bound = p.kind == Schedule::kGpipe ? p.microbatches : left;
  RC_ASSERT(most_in_flight(p.tasks()) == std::min(bound, p.microbatches));
}

RC_GTEST_PROP(ScheduleProperty, ZeroBubbleHoldsTheSameOnEveryStage, ()) {
  // Qi et al. 2023, table 2: as many as the first stage of 1F1B, or twice as many less one.
  const Pipeline p = any_pipeline({Schedule::kZbH1, Schedule::kZbH2});
  const std::int64_t bound = p.kind == Schedule::kZbH1 ? p.stages : 2 * p.stages - 1;
  RC_ASSERT(most_in_flight(p.tasks()) == std::min(bound, p.microbatches));
}

std::int64_t longest_span(Schedule kind, std::int64_t stages, std::int64_t microbatches,
                          PassTicks times) {
  return walk_passes({.schedule = kind}, stages, microbatches, times).longest_span;
}

TEST(ZeroBubble, BubblesAreThePapersClosedForms) {
  // Qi et al. 2023, table 2, where W is no longer than F and B.
  const PassTicks times[] = {{1, 1, 1}, {10, 12, 8}, {10, 15, 5}};
  for (const std::int64_t p : {2, 3, 4, 8}) {
    for (const PassTicks& t : times) {
      const std::int64_t m = 3 * p, busy = m * (t.f + t.b + t.w);
      EXPECT_EQ(longest_span(Schedule::kZbH1, p, m, t) - busy, (p - 1) * (t.f + t.b - t.w));
      EXPECT_EQ(longest_span(Schedule::kZbH2, p, m, t) - busy, (p - 1) * (t.f + t.b - 2 * t.w));
      // 1F1B, whose B is the whole backward pass.
      EXPECT_EQ(longest_span(Schedule::k1f1b, p, m, {t.f, t.b + t.w, 0}) - busy,
                (p - 1) * (t.f + t.b + t.w));
    }
  }
}

TEST(ZeroBubble, ThreeStagesOfFourMicrobatches) {
  EXPECT_EQ(text(schedule(Schedule::kZbH1, 3, 0, 1, 4)), "F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3");
  EXPECT_EQ(text(schedule(Schedule::kZbH1, 3, 2, 1, 4)), "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3");
  EXPECT_EQ(text(schedule(Schedule::kZbH2, 3, 1, 1, 4)), "F0 F1 F2 B0 F3 B1 B2 W0 B3 W1 W2 W3");
}

RC_GTEST_PROP(ScheduleProperty, WarmUpOfInterleavedIsTwoPerStageLeftAndAllButOneChunk, ()) {
  const Pipeline p = any_pipeline({Schedule::kInterleaved});
  const std::int64_t warm_up = 2 * (p.stages - p.stage - 1) + (p.chunks - 1) * p.stages;
  // The steady state begins with one more forward.
  const std::int64_t expected = std::min(warm_up + 1, p.chunks * p.microbatches);
  RC_ASSERT(forwards_ahead(p.tasks()) == expected);
  RC_ASSERT(most_in_flight(p.tasks()) == expected);
}

}  // namespace plait::schedule_test
