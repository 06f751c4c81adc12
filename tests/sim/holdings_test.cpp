// What kernels take while collectives hold multiprocessors, against closed forms and against the
// reference's own sum.
#include "sim/holdings.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/simulate.h"
#include "tests/sim/beside.h"
#include "tests/sim/draw.h"

namespace plait::holdings_test {

constexpr int kSms = 100;

TEST(Holdings, AKernelAloneTakesWhatItTakes) {
  EXPECT_EQ(end_beside(std::vector<Holding>{}, kSms, 7, 1000), 1007);
  EXPECT_EQ(end_beside(std::vector<Holding>{{0, 7, 20}, {1007, 2000, 20}}, kSms, 7, 1000), 1007);
}
TEST(Holdings, WithAFifthHeldAllTheTimeItTakesFiveFourths) {
  EXPECT_EQ(end_beside(std::vector<Holding>{{0, 5000, 20}}, kSms, 0, 1000), 1250);
}
TEST(Holdings, OnlyTheStretchThatIsSharedIsSlower) {
  // From 300 to 500 it does 160 of work: 40 are left over.
  EXPECT_EQ(end_beside(std::vector<Holding>{{300, 500, 20}}, kSms, 0, 1000), 1040);
  EXPECT_EQ(end_beside(std::vector<Holding>{{-100, 200, 20}}, kSms, 0, 1000), 1040);
}
TEST(Holdings, SeveralCollectivesAddUp) {
  // 10,000 each at 80, 50 and 70 %: 2,000 + 5,000 + 3,000 are left over, and 1 by rounding up.
  EXPECT_EQ(end_beside(std::vector<Holding>{{0, 20000, 20}, {10000, 30000, 30}}, kSms, 0, 100000),
            110000 + 1);
}
TEST(Holdings, OneMultiprocessorIsAlwaysLeft) {
  EXPECT_EQ(end_beside(std::vector<Holding>{{0, 1 << 30, 80}, {0, 1 << 30, 40}}, kSms, 0, 1000),
            1000 * kSms);
}
TEST(Holdings, NothingSlowsDownWhatHasNoMultiprocessors) {
  EXPECT_EQ(end_beside(std::vector<Holding>{{0, 5000, 20}}, 0, 0, 1000), 1000);
}
TEST(Holdings, AKernelOfDaysIsSlowedLikeAnother) {
  constexpr SimTime kDay = 24 * 3600 * kPicosecondsPerSecond;
  EXPECT_EQ(end_beside(std::vector<Holding>{{0, 50 * kDay, 20}}, kSms, 0, 16 * kDay), 20 * kDay);
}
struct Drawn {
  std::vector<Holding> holdings;
  std::vector<Stretch> stretches;
};
Drawn draw() {
  Drawn out;
  for (std::int64_t n = pick(0, 4); n > 0; --n) {
    const SimTime start = pick(0, 2000), end = start + pick(1, 1000);
    const int sms = static_cast<int>(pick(1, 60));
    out.holdings.push_back({start, end, sms});
    out.stretches.push_back({start, end, sms});
  }
  return out;
}

RC_GTEST_PROP(Holdings, EqualTheReference, ()) {
  const Drawn d = draw();
  const SimTime start = pick(0, 2000), work = pick(0, 3000);
  RC_ASSERT(end_beside(d.holdings, kSms, start, work) ==
            end_of_kernel(d.stretches, kSms, start, work));
}

RC_GTEST_PROP(Holdings, ShiftWithTime, ()) {
  Drawn d = draw();
  const SimTime start = pick(0, 2000), work = pick(0, 3000), shift = pick(0, 1'000'000);
  const SimTime end = end_beside(d.holdings, kSms, start, work);
  for (Holding& h : d.holdings) h.start += shift, h.end += shift;
  RC_ASSERT(end_beside(d.holdings, kSms, start + shift, work) == end + shift);
}

// Starting later, working more or sharing more never ends earlier.
RC_GTEST_PROP(Holdings, NeverEndEarlierForMore, ()) {
  Drawn d = draw();
  const SimTime start = pick(0, 2000), work = pick(0, 3000);
  const SimTime end = end_beside(d.holdings, kSms, start, work);
  const SimTime rounding = 2 * static_cast<SimTime>(d.holdings.size()) + 2;
  RC_ASSERT(end_beside(d.holdings, kSms, start + pick(0, 500), work) + rounding >= end);
  RC_ASSERT(end_beside(d.holdings, kSms, start, work + pick(0, 500)) + rounding >= end);
  d.holdings.push_back({pick(0, 2000), 3000, 10});
  RC_ASSERT(end_beside(d.holdings, kSms, start, work) + rounding >= end);
}

// Bounds of a search count every kernel alone: they stay bounds.
RC_GTEST_PROP(Holdings, NoOpTakesLessThanAlone, ()) {
  const Case c = any_machine();
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  SimulationOptions options;
  options.placement = c.placement;
  const Simulation beside = simulate(plan, c.cluster(), c.costs(), options);
  for (std::size_t t = 0; t < beside.timeline.tracks.size(); ++t) {
    const Track& track = beside.timeline.tracks[t];
    const std::size_t lane = t % beside.lanes->count();
    const auto stage = static_cast<std::size_t>(track.stage);
    std::size_t flat = 0;
    for (const Call& call : plan.programs[stage].calls) {
      for (std::size_t i = 0; i < plan.blocks[call.block].ops.size(); ++i, ++flat) {
        const std::size_t id = beside.durations->op_id(call.block, i);
        if (!beside.durations->kernel(id)) continue;
        RC_ASSERT(track.end[flat] - track.start[flat] >= beside.durations->row(stage, id).at(lane));
      }
    }
  }
}

}  // namespace plait::holdings_test
