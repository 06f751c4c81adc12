#include <gtest/gtest.h>

#include <algorithm>

#include "plan/plan.h"
#include "tests/plan/tiny.h"

namespace plait::blocking_sends_test {

Plan plan_of(BlockingSends sends, Schedule schedule = Schedule::k1f1b, std::int64_t chunks = 1,
             bool in_parts = false) {
  Strategy s = split({.pp = 2, .tp = in_parts ? 2 : 1});
  s.pipeline.schedule = schedule, s.pipeline.chunks = chunks;
  s.pipeline.scatter_gather = in_parts;
  s.pipeline.blocking_sends = sends;
  return make_plan(tiny_llama(4), tiny_workload(4), s);
}

bool is_send(const Plan& plan, const Call& call) {
  return std::holds_alternative<Send>(plan.blocks[call.block].ops.back().body);
}
bool computes(const Plan& plan, const Call& call) {
  return plan.blocks[call.block].ops.front().stream == Stream::kCompute && !is_send(plan, call);
}
std::int64_t waiting(const Plan& plan) {
  std::int64_t out = 0;
  for (const Program& p : plan.programs)
    out += std::ranges::count_if(p.calls, [](const Call& c) { return c.after >= 0; });
  return out;
}

void expect_waits_for_what_was_sent(const Plan& plan) {
  for (const Program& program : plan.programs) {
    std::int32_t sent = -1, waits = 0;
    for (std::size_t c = 0; c < program.calls.size(); ++c) {
      const Call& call = program.calls[c];
      if (is_send(plan, call)) sent = static_cast<std::int32_t>(c);
      if (!computes(plan, call)) continue;
      EXPECT_EQ(call.after, sent) << "call " << c;
      waits += sent >= 0 ? 1 : 0;
      sent = -1;
    }
    // Four microbatches are sent; behind the last one of the second stage comes the optimizer.
    EXPECT_EQ(waits, 4);
  }
}

TEST(BlockingSends, TheNextKernelsWaitForWhatWasSent) {
  expect_waits_for_what_was_sent(plan_of(BlockingSends::kPlain));
}
TEST(BlockingSends, AlsoForAPartOfIt) {
  expect_waits_for_what_was_sent(plan_of(BlockingSends::kPlain, Schedule::k1f1b, 1, true));
}

TEST(BlockingSends, AreThoseOfPlainSchedulesOrOfAll) {
  EXPECT_EQ(waiting(plan_of(BlockingSends::kNone)), 0);
  EXPECT_EQ(waiting(plan_of(BlockingSends::kPlain, Schedule::kInterleaved, 2)), 0);
  EXPECT_EQ(waiting(plan_of(BlockingSends::kPlain, Schedule::kZbH1)), 0);
  EXPECT_GT(waiting(plan_of(BlockingSends::kAll, Schedule::kInterleaved, 2)), 0);
  EXPECT_GT(waiting(plan_of(BlockingSends::kAll, Schedule::kZbH1)), 0);
}

}  // namespace plait::blocking_sends_test
