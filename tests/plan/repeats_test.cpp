// What repeats of a program: by hand, and for every schedule what is left without most of it is the
// program of fewer microbatches.

#include "plan/repeats.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/schedule.h"
#include "tests/plan/tiny.h"

namespace plait {
namespace {

std::vector<Call> passes(const std::string& letters) {
  std::vector<Call> out;
  std::int32_t forward = 0, backward = 0;
  for (const char c : letters) {
    const bool f = c == 'F';
    out.push_back({.block = f ? BlockId{0} : BlockId{1},
                   .microbatch = c == 'U' ? 0
                                 : f      ? forward++
                                          : backward++});
    if (c == 'U') out.back().block = 2;
  }
  return out;
}

TEST(Repeats, OneForwardOneBackward) {
  const Repeats r = repeats_of(passes("FFFFBFBFBFBFBFBFBFBFBBBBU"));
  EXPECT_EQ(r.calls, 2U);
  EXPECT_EQ(r.microbatches, 1);
  EXPECT_EQ(r.first, 3U);
  EXPECT_EQ(r.periods, 9U);
  // The three of before the repeats end in the third period, that of the first period in the
  // fourth; with a period more all is there.
  EXPECT_EQ(r.telling, 4U);
}

TEST(Repeats, NothingOfAProgramWhoseMicrobatchesAllStay) {
  EXPECT_EQ(repeats_of(passes("FFFFFFFFFFFFBBBBBBBBBBBBU")).telling, 0U);
  EXPECT_EQ(repeats_of({}).telling, 0U);
  EXPECT_EQ(repeats_of(passes("FB")).telling, 0U);
}

TEST(Repeats, WhatIsLeftIsTheProgramOfFewerMicrobatches) {
  int repeating = 0;
  for (const ScheduleKind& kind : kSchedules) {
    Strategy strategy = split({.pp = 4});
    strategy.pipeline.schedule = kind.schedule, strategy.pipeline.chunks = kind.fewest_chunks;
    const Plan plan = make_plan(tiny_llama(8), tiny_workload(64), strategy);
    for (std::size_t s = 0; s < 4; ++s) {
      const std::vector<Call>& calls = plan.programs[s].calls;
      const Repeats r = repeats_of(calls);
      if (r.telling == 0) continue;
      ++repeating;
      ASSERT_GT(r.periods, 2U) << kind.name;
      const std::vector<Call> left = without(calls, r, 2);
      const Plan fewer = make_plan(tiny_llama(8), tiny_workload(64 - 2 * r.microbatches), strategy);
      const std::vector<Call>& expected = fewer.programs[s].calls;
      ASSERT_EQ(left.size(), expected.size()) << kind.name;
      for (std::size_t i = 0; i < left.size(); ++i) {
        EXPECT_EQ(left[i].block, expected[i].block) << kind.name << i;
        EXPECT_EQ(left[i].layer, expected[i].layer) << kind.name << i;
        EXPECT_EQ(left[i].microbatch, expected[i].microbatch) << kind.name << i;
        EXPECT_EQ(left[i].after, expected[i].after) << kind.name << i;
      }
    }
  }
  EXPECT_GT(repeating, 4 * 6);
}

}  // namespace
}  // namespace plait
