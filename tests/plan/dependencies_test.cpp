// Order follows from operands: every conflict on a tensor is ordered, whatever streams it spans,
// and what does not conflict may run at the same time.
#include "plan/dependencies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "tests/plan/tiny.h"

namespace plait::dependencies_test {

/// The last op of each stream, by position in the stream, that surely ended before; -1: none.
using Clock = std::array<std::int64_t, kStreams>;

struct Placed {
  Stream stream;
  std::int64_t position;  // in its stream
  Clock before;           // and itself
};

/// All ops of a program in issue order, with what is ordered before each of them.
class Order {
 public:
  Order(const Plan& plan, std::size_t stage, const Dependencies& all)
      : plan_(plan), program_(plan.programs[stage]), own_(all.programs[stage]) {
    last_.fill({});
    for (std::size_t c = 0; c < program_.calls.size(); ++c) place(c, all.blocks);
  }
  const std::vector<Placed>& ops() const { return ops_; }
  bool ordered(std::size_t i, std::size_t j) const {
    return ops_[j].before[static_cast<std::size_t>(ops_[i].stream)] >= ops_[i].position;
  }

 private:
  void place(std::size_t c, const std::vector<BlockDependencies>& blocks) {
    const BlockId id = program_.calls[c].block;
    const std::size_t first = ops_.size();
    for (std::size_t i = 0; i < plan_.blocks[id].ops.size(); ++i) {
      const auto stream = static_cast<std::size_t>(plan_.blocks[id].ops[i].stream);
      Clock clock = last_[stream].before;
      for (std::uint16_t k = blocks[id].first[i]; k < blocks[id].first[i + 1]; ++k) {
        join(clock, ops_[first + blocks[id].before[k]].before);
      }
      for (std::uint32_t w = own_.wait_first[c]; w < own_.wait_first[c + 1]; ++w) {
        if (own_.waits[w].op == i) join(clock, ops_.at(own_.waits[w].source).before);
      }
      const std::int64_t position = last_[stream].position + 1;
      clock[stream] = position;
      ops_.push_back({static_cast<Stream>(stream), position, clock});
      last_[stream] = {position, clock};
    }
  }
  static void join(Clock& a, const Clock& b) {
    for (std::size_t s = 0; s < a.size(); ++s) a[s] = std::max(a[s], b[s]);
  }
  static Clock nothing() {
    Clock c;
    c.fill(-1);
    return c;
  }

  struct Last {
    std::int64_t position = -1;
    Clock before = nothing();
  };
  const Plan& plan_;
  const Program& program_;
  const ProgramDependencies& own_;
  std::vector<Placed> ops_;
  std::array<Last, kStreams> last_;
};

/// (storage, layer, microbatch, call): what an operand touches.
using Touched = std::tuple<TensorId, std::int32_t, std::int32_t, std::size_t>;
Touched touched(const Plan& plan, const Operand& o, const Call& call, std::size_t c) {
  const TensorId root =
      plan.tensors[o.tensor].is_view() ? plan.tensors[o.tensor].storage : o.tensor;
  switch (plan.tensors[root].scope) {
    case Scope::kRole: return {root, 0, 0, 0};
    case Scope::kLayer: return {root, call.layer + o.shift, 0, 0};
    case Scope::kMicrobatch: return {root, 0, call.microbatch, 0};
    case Scope::kLayerMicrobatch: return {root, call.layer + o.shift, call.microbatch, 0};
    case Scope::kCall: return {root, 0, 0, c};
  }
  return {};
}

/// Conflicting pairs of ops that nothing orders.
std::int64_t races(const Plan& plan, std::size_t stage, const Dependencies& all) {
  const Order order(plan, stage, all);
  std::map<Touched, std::vector<std::pair<std::size_t, bool>>> touches;  // op, does it write
  std::size_t flat = 0;
  const std::vector<Call>& calls = plan.programs[stage].calls;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    for (const Op& op : plan.blocks[calls[c].block].ops) {
      for (const Operand& o : op.operands) {
        touches[touched(plan, o, calls[c], c)].emplace_back(flat, o.use != Use::kRead);
      }
      ++flat;
    }
  }
  std::int64_t n = 0;
  for (const auto& [what, ops] : touches) {
    for (std::size_t j = 0; j < ops.size(); ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        const bool conflict = ops[i].first != ops[j].first && (ops[i].second || ops[j].second);
        if (conflict && !order.ordered(ops[i].first, ops[j].first)) ++n;
      }
    }
  }
  return n;
}

std::vector<Plan> hybrids() {
  std::vector<Plan> out;
  const auto add = [&out](const Model& m, std::int64_t batch, Strategy s, bool sp = false) {
    s.sequence_parallel = sp;
    Workload w = tiny_workload(batch);
    w.gradient_clipping = true;
    out.push_back(make_plan(m, w, s));
  };
  add(tiny_gpt(4), 4, split({.dp = 2}));
  add(tiny_gpt(4), 4, split({.dp = 2}, 1));
  add(tiny_gpt(4), 4, split({.dp = 2}, 2));
  add(tiny_llama(4), 4, split({.fsdp = 2}, 3));
  add(tiny_gpt(4), 4, split({.tp = 2}), true);
  add(tiny_gpt(4), 8, split({.pp = 4}));
  add(tiny_llama(4), 16, split({.pp = 2, .dp = 2, .fsdp = 2, .tp = 2}, 3), true);
  Strategy interleaved = split({.pp = 2, .dp = 2, .tp = 2}, 1);
  interleaved.pipeline.schedule = Schedule::kInterleaved, interleaved.pipeline.chunks = 2;
  interleaved.recompute.kind = Recompute::kFull;
  add(tiny_llama(4), 8, interleaved, true);
  return out;
}

TEST(Dependencies, OrderEveryTwoOpsThatConflictOnATensor) {
  for (const Plan& plan : hybrids()) {
    const Dependencies d = dependencies(plan);
    for (std::size_t stage = 0; stage < plan.programs.size(); ++stage) {
      EXPECT_EQ(races(plan, stage, d), 0) << plan.mesh.world_size() << " ranks, stage " << stage;
    }
  }
}

/// Two calls of one op each, on two streams: the first uses a buffer as told, the second after it.
Plan two_calls(Use first, Use second, std::int32_t after = -1, TensorId other = 0) {
  Plan plan;
  plan.layers = plan.microbatches = 1;
  plan.tensors.resize(2);
  for (Tensor& t : plan.tensors) t.scope = Scope::kRole;
  const auto block = [](Stream stream, TensorId t, Use use) {
    return Block{"", {{Compute(Fill{}), stream, Phase::kForward, {{t, use, 0}}}}};
  };
  plan.blocks = {block(Stream::kCompute, 0, first), block(Stream::kParamGather, other, second)};
  plan.programs = {{{{0, 0, 0, 0, -1}, {1, 0, 0, 0, after}}}};
  return plan;
}
std::size_t waits(const Plan& plan) { return dependencies(plan).programs[0].waits.size(); }

TEST(Dependencies, AcrossStreamsAllButTwoReadsWait) {
  EXPECT_EQ(waits(two_calls(Use::kWrite, Use::kRead)), 1U);
  EXPECT_EQ(waits(two_calls(Use::kRead, Use::kWrite)), 1U);
  EXPECT_EQ(waits(two_calls(Use::kWrite, Use::kWrite)), 1U);
  EXPECT_EQ(waits(two_calls(Use::kRead, Use::kUpdate)), 1U);
  EXPECT_EQ(waits(two_calls(Use::kRead, Use::kRead)), 0U);
}

/// Two calls of a block of ops on these streams, all of which update one buffer.
Plan two_calls_on(const std::vector<Stream>& streams) {
  Plan plan;
  plan.layers = plan.microbatches = 1;
  plan.tensors.resize(1);
  plan.tensors[0].scope = Scope::kRole;
  plan.blocks.resize(1);
  for (const Stream s : streams) {
    plan.blocks[0].ops.push_back({Compute(Fill{}), s, Phase::kForward, {{0, Use::kUpdate, 0}}});
  }
  plan.programs = {{{{0, 0, 0, 0, -1}, {0, 0, 0, 0, -1}}}};
  return plan;
}

TEST(Dependencies, WhatStandsBetweenComputeOfItsOwnCallWaitsForNoOther) {
  EXPECT_EQ(waits(two_calls_on({Stream::kCompute, Stream::kTp, Stream::kCompute})), 0U);
  EXPECT_EQ(waits(two_calls_on({Stream::kCompute, Stream::kTp})), 1U);
  EXPECT_EQ(waits(two_calls_on({Stream::kTp, Stream::kCompute})), 1U);
}

TEST(Dependencies, ACallWaitsForTheOneThatItNames) {
  EXPECT_EQ(waits(two_calls(Use::kWrite, Use::kWrite, -1, 1)), 0U);
  const Plan plan = two_calls(Use::kWrite, Use::kWrite, 0, 1);
  const ProgramDependencies p = dependencies(plan).programs[0];
  ASSERT_EQ(p.waits.size(), 1U);
  EXPECT_EQ(p.waits[0].source, 0U);
  EXPECT_EQ(p.wait_first[1], 0U);  // the wait belongs to the second call
}

TEST(Dependencies, OneStreamNeedsNone) {
  const Dependencies d = dependencies(make_plan(tiny_gpt(), tiny_workload(2), split({})));
  EXPECT_EQ(d.programs[0].events, 0U);
  EXPECT_EQ(d.messages, 0U);
  for (const BlockDependencies& b : d.blocks) EXPECT_TRUE(b.before.empty());
}

TEST(Dependencies, WeightGradientDoesNotWaitForTheAllReduceOfTheInputGradient) {
  // That is what hides the all_reduce (Megatron-LM's
  // LinearWithGradAccumulationAndAsyncCommunication).
  const Plan plan = make_plan(tiny_llama(), tiny_workload(1), split({.tp = 2}));
  const Dependencies d = dependencies(plan);
  std::int64_t seen = 0;
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    if (plan.blocks[b].name != "layer.backward") continue;
    for (std::size_t i = 0; i < plan.blocks[b].ops.size(); ++i) {
      if (plan.blocks[b].ops[i].phase != Phase::kWeightGrad) continue;
      ++seen;
      EXPECT_EQ(d.blocks[b].first[i], d.blocks[b].first[i + 1]);
    }
  }
  EXPECT_EQ(seen, 4);  // qkv, attention output, MLP up, MLP down
}

TEST(Dependencies, EachMessageHasOneNumberAtBothOfItsEnds) {
  const std::int64_t m = 3;
  const Plan plan = make_plan(tiny_llama(3), tiny_workload(m), split({.pp = 3}));
  const Dependencies d = dependencies(plan);
  EXPECT_EQ(d.messages, static_cast<std::uint32_t>(2 * (3 - 1) * m));
  std::map<std::uint32_t, int> ends;
  for (const ProgramDependencies& p : d.programs) {
    for (std::uint32_t n : p.message) ends[n] += n == kNoMessage ? 0 : 1;
  }
  ends.erase(kNoMessage);
  EXPECT_EQ(ends.size(), d.messages);
  for (const auto& [n, count] : ends) EXPECT_EQ(count, 2) << n;
}

/// True when each wait finds in its event what its source has put there.
bool events_hold(const Plan& plan, std::size_t stage, const ProgramDependencies& p) {
  std::vector<std::uint32_t> cell(p.events, 0xFFFFFFFF);
  std::uint32_t flat = 0;
  const std::vector<Call>& calls = plan.programs[stage].calls;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    for (std::uint32_t s = p.signal_first[c]; s < p.signal_first[c + 1]; ++s) {
      cell.at(p.signals[s].event) = flat + p.signals[s].op;
    }
    for (std::uint32_t w = p.wait_first[c]; w < p.wait_first[c + 1]; ++w) {
      if (cell.at(p.waits[w].event) != p.waits[w].source) return false;
    }
    flat += static_cast<std::uint32_t>(plan.blocks[calls[c].block].ops.size());
  }
  return true;
}

TEST(Events, AreSignalledBeforeTheyAreWaitedForAlsoWhenTheirNumbersAreReused) {
  for (const Plan& plan : hybrids()) {
    Dependencies d = dependencies(plan);
    for (std::size_t stage = 0; stage < plan.programs.size(); ++stage) {
      ProgramDependencies& p = d.programs[stage];
      EXPECT_TRUE(events_hold(plan, stage, p));
      const std::uint32_t fresh = p.events;
      reuse_events(p);
      EXPECT_TRUE(events_hold(plan, stage, p));
      EXPECT_LE(p.events, fresh);
    }
  }
}

}  // namespace plait::dependencies_test
