// Plans worked out by hand that the reference simulator must get right.
#include "tests/sim/reference.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/sim/hand_made.h"

namespace plait::reference_test {

// Stage 0 computes for 10 and sends for 5; stage 1, whose first kernel takes 12, receives and
// computes for 7. The message arrives at 15, so stage 1 goes on at 15 and ends at 22.
TEST(Reference, AMessageArrivesWhenItsSendEnds) {
  const Plan plan = two_stages();
  const std::map<std::string, SimTime> time = {
      {"first", 10}, {"send", 5}, {"warm", 12}, {"recv", 5}, {"last", 7}};
  const ReferenceRun run = reference_run(
      plan, [&](std::int64_t, BlockId b, std::size_t) { return time.at(plan.blocks[b].name); });
  EXPECT_FALSE(run.blocked);
  EXPECT_EQ(run.ranks[0].end, (std::vector<SimTime>{10, 10 + 5}));
  EXPECT_EQ(run.ranks[1].start, (std::vector<SimTime>{0, 12, 15}));
  EXPECT_EQ(run.ranks[1].end, (std::vector<SimTime>{12, 15, 15 + 7}));
  EXPECT_EQ(run.step_time, 15 + 7);
}

TEST(Reference, SaysWhenNothingCanRun) {
  EXPECT_TRUE(reference_run(crossed_messages(), [](std::int64_t, BlockId, std::size_t) {
                return 1;
              }).blocked);
}

// Kernels of 10, 1 and 2, then a shift of no time: rank 1 has what rank 0 sends at 10, rank 0 what
// rank 2 sends, at 2, when its own kernel still runs, and rank 2 what rank 1 sends at 1.
TEST(Reference, AMessageOfAShiftWaitsForItsSenderOnly) {
  Plan plan = empty_plan(1, 1, 1);
  plan.mesh[Axis::kCp] = 3;
  plan.tensors = {tensor("x", Scope::kRole)};
  Collective shift;
  shift.kind = CollectiveKind::kShift, shift.axes = Axis::kCp, shift.elements = 1;
  plan.blocks = {{"all",
                  {kernel(matmul(1), {{0, Use::kUpdate, 0}}),
                   {shift, Stream::kCp, {}, {{0, Use::kUpdate, 0}}}}}};
  plan.programs[0].calls = {{.block = 0}};
  const std::vector<SimTime> kernels = {10, 1, 2};
  const auto ends = [&](ShiftWaits waits) {
    const OpDuration duration = [&](std::int64_t rank, BlockId, std::size_t op) {
      return op == 0 ? kernels[static_cast<std::size_t>(rank)] : SimTime{0};
    };
    std::vector<SimTime> out;
    for (const RankSpans& r : reference_run(plan, duration, {}, {}, waits).ranks)
      out.push_back(r.end[1]);
    return out;
  };
  EXPECT_EQ(ends(ShiftWaits::kForAll), (std::vector<SimTime>{10, 10, 10}));
  EXPECT_EQ(ends(ShiftWaits::kForSender), (std::vector<SimTime>{10, 10, 2}));
}

}  // namespace plait::reference_test
