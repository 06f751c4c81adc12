#include "plan/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace plait {
namespace {

/// "F0 B0" (microbatch), or with several chunks "F0.1" (chunk.microbatch).
std::string text(const std::vector<Task>& tasks, bool chunks = false) {
  std::string out;
  for (const Task& t : tasks) {
    if (!out.empty()) out += ' ';
    out += t.forward ? 'F' : 'B';
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

TEST(SingleStage, EveryScheduleWithoutWarmUpAlternates) {
  EXPECT_EQ(text(schedule(Schedule::k1f1b, 1, 0, 1, 2)), "F0 B0 F1 B1");
}

struct Pipeline {
  Schedule kind;
  std::int64_t stages, stage, chunks, microbatches;
  std::vector<Task> tasks() const { return schedule(kind, stages, stage, chunks, microbatches); }
};

Pipeline any_pipeline() {
  Pipeline p{};
  p.kind = *rc::gen::element(Schedule::kGpipe, Schedule::k1f1b, Schedule::kInterleaved);
  const bool interleaved = p.kind == Schedule::kInterleaved;
  p.stages = *rc::gen::inRange<std::int64_t>(interleaved ? 2 : 1, 6);
  p.stage = *rc::gen::inRange<std::int64_t>(0, p.stages);
  p.chunks = interleaved ? *rc::gen::inRange<std::int64_t>(2, 5) : 1;
  p.microbatches = *rc::gen::inRange<std::int64_t>(1, 9) * (interleaved ? p.stages : 1);
  return p;
}

RC_GTEST_PROP(ScheduleProperty, EveryPieceRunsForwardOnceAndThenBackwardOnce, ()) {
  const Pipeline p = any_pipeline();
  std::map<std::pair<int, int>, std::string> passes;
  for (const Task& t : p.tasks()) passes[{t.chunk, t.microbatch}] += t.forward ? 'F' : 'B';
  RC_ASSERT(static_cast<std::int64_t>(passes.size()) == p.chunks * p.microbatches);
  for (const auto& [piece, order] : passes) RC_ASSERT(order == "FB");
}

/// Forwards before the first backward.
std::int64_t forwards_ahead(const std::vector<Task>& tasks) {
  const auto first = std::find_if(tasks.begin(), tasks.end(), [](Task t) { return !t.forward; });
  return first - tasks.begin();
}

std::int64_t most_in_flight(const std::vector<Task>& tasks) {
  std::int64_t now = 0, most = 0;
  for (const Task& t : tasks) now += t.forward ? 1 : -1, most = std::max(most, now);
  return most;
}

RC_GTEST_PROP(ScheduleProperty, InFlightIsMicrobatchesInGpipeAndStagesLeftIn1f1b, ()) {
  const Pipeline p = any_pipeline();
  RC_PRE(p.kind != Schedule::kInterleaved);
  const std::int64_t left = p.stages - p.stage;
  const std::int64_t bound = p.kind == Schedule::kGpipe ? p.microbatches : left;
  RC_ASSERT(most_in_flight(p.tasks()) == std::min(bound, p.microbatches));
}

RC_GTEST_PROP(ScheduleProperty, WarmUpOfInterleavedIsTwoPerStageLeftAndAllButOneChunk, ()) {
  const Pipeline p = any_pipeline();
  RC_PRE(p.kind == Schedule::kInterleaved);
  const std::int64_t warm_up = 2 * (p.stages - p.stage - 1) + (p.chunks - 1) * p.stages;
  // The steady state begins with one more forward.
  const std::int64_t expected = std::min(warm_up + 1, p.chunks * p.microbatches);
  RC_ASSERT(forwards_ahead(p.tasks()) == expected);
  RC_ASSERT(most_in_flight(p.tasks()) == expected);
}

}  // namespace
}  // namespace plait
