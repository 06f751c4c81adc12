// Schedules of two chunks, in the shape of a V or from both ends: where the pieces are, how long a
// stage waits, what it holds.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "tests/plan/pass_walk.h"

namespace plait::v_schedules_test {

PipelineOptions two_chunks(Schedule kind) { return {.schedule = kind, .chunks = 2}; }

TEST(PieceMap, VOfThreeStagesTurnsOnTheLastOne) {
  const PieceMap v(Schedule::kZbV, 3, 2);
  const std::int64_t expected[] = {0, 1, 2, 2, 1, 0};
  const int steps[] = {1, 1, 0, -1, -1};
  for (std::int64_t piece = 0; piece < 6; ++piece) {
    EXPECT_EQ(v.stage_of(piece), expected[piece]);
  }
  for (std::int64_t piece = 0; piece < 5; ++piece) EXPECT_EQ(v.step_behind(piece), steps[piece]);
}

RC_GTEST_PROP(PieceMap, EveryPieceHasAPlaceOfItsOwnNextToItsNeighbours, ()) {
  const Schedule kind = *rc::gen::element(Schedule::kInterleaved, Schedule::kZbV);
  const std::int64_t p = *rc::gen::inRange<std::int64_t>(2, 9);
  const std::int64_t v = *rc::gen::inRange<std::int64_t>(1, 5);
  const PieceMap places(kind, p, v);
  std::set<std::int64_t> met;
  for (std::int64_t s = 0; s < p; ++s) {
    for (std::int64_t c = 0; c < v; ++c) {
      const std::int64_t piece = places.piece_of(s, c);
      RC_ASSERT(places.stage_of(piece) == s);
      RC_ASSERT(met.insert(piece).second);
      if (piece + 1 == places.count()) continue;
      const std::int64_t next = (s + places.step_behind(piece) + p) % p;
      RC_ASSERT(places.stage_of(piece + 1) == next);
    }
  }
  RC_ASSERT(static_cast<std::int64_t>(met.size()) == places.count());
}

RC_GTEST_PROP(VSchedules, CanBeExecutedWithAnyNumberOfMicrobatches, ()) {
  const Schedule kind = *rc::gen::element(Schedule::kZbV, Schedule::kDualPipeV, Schedule::kDualPipe,
                                          Schedule::kVHalf, Schedule::kVMin);
  const bool pairs = kind == Schedule::kDualPipe;
  const std::int64_t p = *rc::gen::inRange<std::int64_t>(1, 5) * (pairs ? 2 : 1) + (pairs ? 0 : 1);
  const std::int64_t m = *rc::gen::inRange<std::int64_t>(1, 40);
  // No stage blocks another.
  RC_ASSERT(walk_passes(two_chunks(kind), p, m, {}).end >= (pairs ? 3 : 6) * m);
}

/// As `exchange_overlap` "passes" has it.
PipelineOptions in_turns(Schedule kind, std::int64_t chunks) {
  return {.schedule = kind, .chunks = chunks, .exchange_overlap = ExchangeOverlap::kPasses};
}

RC_GTEST_PROP(Pairs, CanBeDoneSideBySide, ()) {
  const Schedule kind =
      *rc::gen::element(Schedule::kInterleaved, Schedule::kDualPipeV, Schedule::kDualPipe);
  const bool loop = kind == Schedule::kInterleaved;
  const std::int64_t p = *rc::gen::inRange<std::int64_t>(1, 5) * 2;
  const std::int64_t chunks = loop ? *rc::gen::inRange<std::int64_t>(2, 5) : 2;
  const std::int64_t m = *rc::gen::inRange<std::int64_t>(1, 20) * (loop ? p : 1);
  const PipelineOptions options = in_turns(kind, chunks);
  RC_ASSERT(walk_passes(options, p, m, {}, Pairs::kSideBySide).end > 0);
  for (const std::vector<Task>& tasks : schedule(options, p, m)) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (!tasks[i].pairs) continue;
      RC_ASSERT(tasks[i].pass == TaskPass::kForward);
      RC_ASSERT(tasks[i + 1].pass == TaskPass::kBackward);
      RC_ASSERT(tasks[i].microbatch != tasks[i + 1].microbatch ||
                tasks[i].chunk != tasks[i + 1].chunk);
    }
  }
}

// Most passes are in pairs: all but those of warm-up and cool-down.
TEST(Pairs, AreWhatASteadyPipelineDoes) {
  const std::int64_t p = 4, m = 40;
  for (const Schedule kind : {Schedule::kInterleaved, Schedule::kDualPipeV}) {
    for (const std::vector<Task>& tasks : schedule(in_turns(kind, 2), p, m)) {
      const auto pairs = std::ranges::count_if(tasks, [](const Task& t) { return t.pairs; });
      EXPECT_GE(pairs, 2 * m - 4 * p) << name_of(kind);
      EXPECT_LT(pairs, 2 * m) << name_of(kind);
    }
  }
}

// Qi et al. 2023, section 6: with f = b = w a stage never waits between its first pass and its last
// one, whatever p, once there are microbatches to fill the V.
TEST(ZbV, HasNoBubbleWherePassesAreEqual) {
  for (const std::int64_t p : {2, 3, 4, 8, 16}) {
    for (const std::int64_t m : {2 * p - 1, 2 * p, 3 * p, 5 * p + 1}) {
      EXPECT_EQ(walk_passes(two_chunks(Schedule::kZbV), p, m, {}).longest_span, 2 * m * 3)
          << p << " stages, " << m << " microbatches";
    }
  }
}

// The same section: every stage holds 2 p chunks, the activations of p microbatches of a stage, as
// the first stage of 1F1B does.
TEST(ZbV, EveryStageHoldsWhatTheFirstOneOf1f1bHolds) {
  for (const std::int64_t p : {2, 3, 4, 8}) {
    const std::int64_t m = 3 * p;
    const std::int64_t first = most_in_flight(schedule(Schedule::k1f1b, p, 0, 1, m));
    for (std::int64_t s = 0; s < p; ++s) {
      EXPECT_EQ(most_in_flight(schedule(Schedule::kZbV, p, s, 2, m)), 2 * first);
    }
  }
}

// DeepSeek-AI 2024, table 2, with PP = 2 p pieces: PP + 1 of them are held.
TEST(DualPipeV, HoldsTwoPiecesPerStageAndOneMore) {
  for (const std::int64_t p : {2, 3, 4, 8}) {
    for (std::int64_t s = 0; s < p; ++s) {
      EXPECT_EQ(most_in_flight(schedule(Schedule::kDualPipeV, p, s, 2, 4 * p)), 2 * p + 1);
    }
  }
}

// The same table: (PP/2 - 1) (F&B + B - 3 W), where B is the whole backward pass, b + w, and F&B
// the two of a pair together. Where they come one behind the other F's result leaves before B
// begins, so with F&B = F + B the stages wait no longer than that.
TEST(DualPipeV, WaitsNoLongerThanThePapersFormula) {
  const PassTicks kTimes[] = {{1, 1, 1}, {10, 12, 8}, {10, 15, 5}, {20, 18, 9}};
  for (const std::int64_t p : {2, 3, 4, 8}) {
    for (const PassTicks& t : kTimes) {
      const std::int64_t m = 4 * p, busy = 2 * m * (t.f + t.b + t.w), backward = t.b + t.w;
      const std::int64_t formula = (p - 1) * (t.f + backward + backward - 3 * t.w);
      const std::int64_t span = walk_passes(two_chunks(Schedule::kDualPipeV), p, m, t).longest_span;
      EXPECT_LE(span - busy, formula) << p << " stages, f " << t.f << " b " << t.b;
      EXPECT_GE(span - busy, 0);
    }
    // Equal passes: one pass per stage behind the first.
    const std::int64_t m = 4 * p;
    EXPECT_EQ(walk_passes(two_chunks(Schedule::kDualPipeV), p, m, {}).longest_span, 6 * m + p - 1);
  }
}

// Side by side both results leave at the end of F&B only, which is later than one behind the other;
// with equal passes the stages then wait as long as the formula says.
TEST(DualPipeV, WaitsAsThePapersFormulaWherePairsAreSideBySide) {
  const PassTicks kTimes[] = {{1, 1, 1}, {10, 12, 8}, {10, 15, 5}, {20, 18, 9}};
  for (const std::int64_t p : {2, 3, 4, 8}) {
    for (const PassTicks& t : kTimes) {
      const std::int64_t m = 4 * p, busy = 2 * m * (t.f + t.b + t.w), backward = t.b + t.w;
      const std::int64_t formula = (p - 1) * (t.f + backward + backward - 3 * t.w);
      const PipelineOptions options = two_chunks(Schedule::kDualPipeV);
      const std::int64_t waits =
          walk_passes(options, p, m, t, Pairs::kSideBySide).longest_span - busy;
      EXPECT_GE(waits, walk_passes(options, p, m, t).longest_span - busy);
      const bool equal = t.f == t.b && t.b == t.w;
      EXPECT_TRUE(waits == formula || !equal) << p << " stages";
    }
  }
}

TEST(PieceMap, BothWaysEveryPieceIsOnTwoStages) {
  const PieceMap places(Schedule::kDualPipe, 4, 2);
  EXPECT_EQ(places.count(), 4);
  for (std::int64_t piece = 0; piece < 4; ++piece) {
    EXPECT_EQ(places.stage_of(piece, 0), piece);
    EXPECT_EQ(places.stage_of(piece, 1), 3 - piece);
    EXPECT_EQ(places.piece_of(places.stage_of(piece, 1), 1), piece);
  }
  EXPECT_EQ(places.step_behind(1, 0), 1);
  EXPECT_EQ(places.step_behind(1, 1), -1);
}

// DeepSeek-AI 2024, table 2: PP + 1 pieces are held, and stages wait for (PP / 2 - 1) (F&B + B - 3
// W), with F&B = F + B no longer than that.
TEST(DualPipe, HoldsAndWaitsAsThePaperSays) {
  const PassTicks kTimes[] = {{1, 1, 1}, {10, 12, 8}, {10, 15, 5}, {20, 18, 9}};
  for (const std::int64_t p : {2, 4, 6, 8, 16}) {
    const std::int64_t m = 4 * p;
    for (std::int64_t s = 0; s < p; ++s) {
      EXPECT_EQ(most_in_flight(schedule(Schedule::kDualPipe, p, s, 2, m)), p + 1);
    }
    for (const PassTicks& t : kTimes) {
      const std::int64_t busy = m * (t.f + t.b + t.w), backward = t.b + t.w;
      const std::int64_t formula = (p / 2 - 1) * (t.f + backward + backward - 3 * t.w);
      const std::int64_t span = walk_passes(two_chunks(Schedule::kDualPipe), p, m, t).longest_span;
      EXPECT_LE(span - busy, formula) << p << " stages, f " << t.f << " b " << t.b;
      EXPECT_GE(span - busy, 0);
    }
  }
}

TEST(DualPipe, HalfOfTheMicrobatchesEnterAtEitherEnd) {
  for (const std::int64_t m : {1, 5, 8}) {
    std::set<std::int32_t> down, up;
    for (const Task& t : schedule(Schedule::kDualPipe, 4, 1, 2, m)) {
      (t.chunk == 0 ? down : up).insert(t.microbatch);
    }
    EXPECT_EQ(static_cast<std::int64_t>(down.size()), (m + 1) / 2);
    EXPECT_EQ(static_cast<std::int64_t>(up.size()), m / 2);
  }
}

// Qi et al. 2024, arXiv 2405.15362, figures of the authors' space: the activations of (p + 2) / 2
// and (p + 4) / 3 microbatches of a stage, where 1F1B holds p; bubble rates of about p / 2 m and 2
// p / 3 m with equal passes, those of the whole time.
TEST(BuildingBlocks, HoldAndWaitAsThePaperSays) {
  for (const std::int64_t p : {2, 3, 4, 5, 6, 8, 9, 12, 16}) {
    const std::int64_t m = 4 * p, busy = 6 * m;
    const auto expect = [&](Schedule kind, std::int64_t held, double rate) {
      std::int64_t most = 0;
      for (std::int64_t s = 0; s < p; ++s) {
        most = std::max(most, most_in_flight(schedule(kind, p, s, 2, m)));
      }
      EXPECT_EQ(most, 2 * held) << p;
      const auto span = static_cast<double>(walk_passes(two_chunks(kind), p, m, {}).longest_span);
      EXPECT_LE(1 - static_cast<double>(busy) / span, rate) << p;
    };
    expect(Schedule::kVHalf, (p + 2) / 2, 1.0 / 8);  // m = 4 p
    expect(Schedule::kVMin, (p + 4) / 3, 2.0 / 12);
  }
}

TEST(BuildingBlocks, HoldNoMoreForMoreMicrobatches) {
  for (const Schedule kind : {Schedule::kVHalf, Schedule::kVMin}) {
    for (std::int64_t s = 0; s < 4; ++s) {
      EXPECT_EQ(most_in_flight(schedule(kind, 4, s, 2, 100)),
                most_in_flight(schedule(kind, 4, s, 2, 20)));
    }
  }
}

}  // namespace plait::v_schedules_test
