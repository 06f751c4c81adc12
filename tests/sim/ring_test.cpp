// Ring attention in time: a block travels while attention works on the one before.
#include <gtest/gtest.h>

#include "sim/simulate.h"
#include "tests/plan/tiny.h"
#include "tests/sim/hand_made.h"

namespace plait::ring_test {

struct Span {
  SimTime start = 0, end = 0;
};
/// Of a layer's forward pass: attention of each step, and the messages between them.
struct Steps {
  std::vector<Span> attention, shifts;
};

Steps steps_of(std::int64_t tokens, std::int64_t cp) {
  Model m = tiny_llama(1);
  m.hidden = 1024, m.heads = m.kv_heads = 8, m.head_dim = 128;
  Workload w = tiny_workload(1);
  w.sequence_length = tokens;
  Strategy s = split({.cp = cp});
  s.context.kind = ContextKind::kRing;
  const Plan plan = make_plan(m, w, s);
  const Simulation sim = simulate(plan, ideal_machine(cp), {});
  const Track& track = sim.timeline.tracks.at(0);
  Steps out;
  std::size_t flat = 0;
  for_each_op(plan, 0, [&](const Call& call, const Op& op) {
    const Span span{track.start[flat], track.end[flat]};
    ++flat;
    if (plan.blocks[call.block].name != "layer.forward") return;
    if (name_of(op) == "attention") out.attention.push_back(span);
    if (name_of(op) == "shift") out.shifts.push_back(span);
  });
  return out;
}

// 64k tokens: s^2 / (2 cp^2) pairs a step take longer than 2 s / cp kv_width elements travel.
TEST(RingInTime, MessagesHideBehindAttentionThatTakesLonger) {
  const Steps steps = steps_of(65536, 4);
  ASSERT_EQ(steps.attention.size(), 4U);
  ASSERT_EQ(steps.shifts.size(), 3U);
  for (std::size_t t = 0; t < 3; ++t) {
    EXPECT_LE(steps.shifts[t].start, steps.attention[t].start);
    EXPECT_LT(steps.shifts[t].end, steps.attention[t].end);
    EXPECT_EQ(steps.attention[t + 1].start, steps.attention[t].end);
  }
}

// 256 tokens: the message takes longer, and each step begins when its block has come.
TEST(RingInTime, AttentionThatTakesLessWaitsForItsBlock) {
  const Steps steps = steps_of(256, 4);
  for (std::size_t t = 0; t < 3; ++t) {
    EXPECT_GT(steps.shifts[t].end, steps.attention[t].end);
    EXPECT_EQ(steps.attention[t + 1].start, steps.shifts[t].end);
  }
}

}  // namespace plait::ring_test
