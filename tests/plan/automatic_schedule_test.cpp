#include "plan/automatic_schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/plan/pass_walk.h"

namespace plait::automatic_schedule_test {

/// Zero Bubble's models in microseconds and the bubble rates that its authors' schedulers reach
/// (Qi et al. 2023, table 6, the profile, and table 5).
struct Published {
  std::int64_t stages, microbatches, chunks;  // of 1F1B-I: one layer each
  PassTicks us;
  double kept;  // table 1: M_W / M_B = 32 h / (34 h + 5 a s) with h, a of table 3 and s = 1024
  double one_f_one_b, interleaved, zb_1p, zb_2p;
};
constexpr double kept(double h, double a) { return 32 * h / (34 * h + 5 * a * 1024); }
constexpr double kSmall = kept(2304, 24), kLarge = kept(5120, 40);
constexpr Published kPublished[] = {
    {8, 24, 3, {18522, 18086, 9337, 601}, kSmall, 0.2431, 0.1055, 0.1585, 0.0433},
    {8, 32, 3, {18513, 18086, 9331, 626}, kSmall, 0.1985, 0.0818, 0.1242, 0.0039},
    {8, 64, 3, {18546, 18097, 9321, 762}, kSmall, 0.1240, 0.0443, 0.0674, 0.0026},
    {16, 48, 3, {11347, 11248, 8132, 377}, kLarge, 0.2552, 0.1104, 0.1397, 0.0066},
    {16, 64, 3, {11307, 11254, 8101, 379}, kLarge, 0.2082, 0.0852, 0.1088, 0.0054},
    {16, 128, 3, {11325, 11308, 8109, 378}, kLarge, 0.1251, 0.0445, 0.0576, 0.0028}};

/// Of the longest stage, the share in which it computes nothing.
double bubble_rate(const Published& p, Schedule kind) {
  PipelineOptions options{.schedule = kind};
  const auto of = [](std::int64_t t) { return static_cast<double>(t); };
  options.profile = {of(p.us.f), of(p.us.b), of(p.us.w), of(p.us.message), p.kept};
  PassTicks t = p.us;
  if (!splits_backward(kind)) t.b += t.w, t.w = 0;
  if (kind == Schedule::kInterleaved) options.chunks = p.chunks, t.f /= p.chunks, t.b /= p.chunks;
  const double busy = of(p.microbatches * options.chunks * (t.f + t.b + t.w));
  return 1 - busy / of(walk_passes(options, p.stages, p.microbatches, t).longest_span);
}

// Throughput goes with 1 - rate.
TEST(AutomaticSchedule, ReachesThePublishedBubbleRates) {
  for (const Published& p : kPublished) {
    EXPECT_NEAR(bubble_rate(p, Schedule::kZb1p), p.zb_1p, 0.005) << p.microbatches;
    EXPECT_NEAR(bubble_rate(p, Schedule::kZb2p), p.zb_2p, 0.005) << p.microbatches;
  }
}

TEST(AutomaticSchedule, RatiosToOneForwardOneBackwardAreThePublishedOnesWithinFivePercent) {
  for (const Published& p : kPublished) {
    const double base = 1 - bubble_rate(p, Schedule::k1f1b);
    const auto expect = [&](Schedule kind, double published) {
      const double ratio = (1 - bubble_rate(p, kind)) / base;
      const double theirs = (1 - published) / (1 - p.one_f_one_b);
      EXPECT_NEAR(ratio / theirs, 1, 0.05) << name_of(kind) << ", " << p.microbatches;
    };
    expect(Schedule::kInterleaved, p.interleaved);
    expect(Schedule::kZbH1, p.zb_1p);
    expect(Schedule::kZb1p, p.zb_1p);
    expect(Schedule::kZb2p, p.zb_2p);
  }
}

// Section 2: ZB-H1 is the best of p microbatches where passes are equal, ZB-H2 has no bubble.
TEST(AutomaticSchedule, IsAsShortAsTheHandMadeOnesWherePassesAreEqual) {
  for (const std::int64_t p : {2, 3, 4, 8}) {
    const std::int64_t m = 3 * p;
    EXPECT_EQ(walk_passes({.schedule = Schedule::kZb1p}, p, m, {}).longest_span, 3 * m + (p - 1));
    EXPECT_EQ(walk_passes({.schedule = Schedule::kZb2p}, p, m, {}).longest_span, 3 * m);
  }
}

RC_GTEST_PROP(AutomaticSchedule, HoldsNoMoreThanItMayAndDoesEverythingOnce, ()) {
  const auto time = [] { return *rc::gen::inRange(1, 40); };
  const PassProfile profile{static_cast<double>(time()), static_cast<double>(time()),
                            static_cast<double>(time()), static_cast<double>(time()) / 10,
                            static_cast<double>(*rc::gen::inRange(0, 11)) / 10};
  const std::int64_t p = *rc::gen::inRange<std::int64_t>(2, 7);
  const std::int64_t m = *rc::gen::inRange<std::int64_t>(1, 20);
  const std::int64_t held = p * *rc::gen::inRange<std::int64_t>(1, 3);
  for (const std::vector<Task>& tasks : automatic_schedule(profile, p, m, held)) {
    RC_ASSERT(static_cast<std::int64_t>(tasks.size()) == 3 * m);
    std::array<std::int32_t, 3> next = {};
    for (const Task& t : tasks) {
      RC_ASSERT(t.microbatch == next[static_cast<std::size_t>(t.pass)]++);
      const double holds = (next[0] - next[1]) + profile.kept * (next[1] - next[2]);
      RC_ASSERT(holds <= static_cast<double>(held) + 1e-6);
      RC_ASSERT(next[1] <= next[0] && next[2] <= next[1]);
    }
  }
}

RC_GTEST_PROP(AutomaticSchedule, CanBeExecuted, ()) {
  const auto time = [] { return static_cast<double>(*rc::gen::inRange(1, 40)); };
  PipelineOptions options{.schedule = *rc::gen::element(Schedule::kZb1p, Schedule::kZb2p)};
  options.profile = {time(), time(), time(), 0, 1};
  const std::int64_t p = *rc::gen::inRange<std::int64_t>(2, 9);
  const std::int64_t m = *rc::gen::inRange<std::int64_t>(1, 30);
  RC_ASSERT(walk_passes(options, p, m, {}).end >= 3 * m);
}

}  // namespace plait::automatic_schedule_test
