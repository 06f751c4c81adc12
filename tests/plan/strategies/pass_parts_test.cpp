// Passes that take turns: what is cut where, in which order, and that nothing else changes.
#include <algorithm>
#include <map>
#include <set>

#include "plan/memory.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::pass_parts_test {

/// Two of four experts per token.
Model tiny_mixture(std::int64_t layers) {
  Model m = tiny_llama(layers);
  m.experts = 4, m.experts_per_token = 2, m.expert_ffn_hidden = 12;
  return m;
}

struct Asked {
  std::int64_t pp = 1;
  Schedule schedule = Schedule::k1f1b;
  std::int64_t chunks = 1;
  ExchangeOverlap overlap = ExchangeOverlap::kPasses;
};
Plan plan_of(const Asked& a, const Model& m = tiny_mixture(4), std::int64_t microbatches = 8) {
  Strategy s = split({.pp = a.pp});
  s.mesh[Axis::kEp] = 2;
  s.pipeline.schedule = a.schedule, s.pipeline.chunks = a.chunks;
  s.pipeline.exchange_overlap = a.overlap;
  return make_plan(m, tiny_workload(2 * microbatches), s);
}
constexpr Asked kAll[] = {
    {}, {2, Schedule::kInterleaved, 2}, {2, Schedule::kDualPipeV, 2}, {2, Schedule::kDualPipe, 2}};

bool exchanges(const Op& op) { return op.stream == Stream::kEp; }
bool is_part(const Plan& plan, const Call& call) {
  return plan.blocks[call.block].name.find(".part") != std::string::npos;
}

TEST(PassParts, AreThePassCutWhereItWouldWait) {
  const Plan plan = plan_of({});
  for (const std::string pass : {"moe_layer.forward", "moe_layer.backward"}) {
    std::vector<std::string> parts, whole;
    for (const Op& op : block_named(plan, pass).ops) whole.emplace_back(name_of(op));
    for (const int i : {1, 2, 3}) {
      const Block part = block_named(plan, pass + ".part" + std::to_string(i));
      // Tokens go to the experts, and come back.
      EXPECT_EQ(std::ranges::count_if(part.ops, exchanges), i < 3 ? 1 : 0) << part.name;
      for (const Op& op : part.ops) parts.emplace_back(name_of(op));
    }
    EXPECT_EQ(parts, whole);
  }
}

// Between an exchange of a pair and the first compute that waits for it the other pass computes.
TEST(PassParts, EachExchangeOfAPairHasComputeOfTheOtherPassBesideIt) {
  for (const Asked& asked : kAll) {
    const Plan plan = plan_of(asked);
    std::int64_t in_pairs = 0, alone = 0;
    for (std::size_t stage = 0; stage < plan.programs.size(); ++stage) {
      std::map<TensorId, bool> under_way;  // and whether another microbatch has computed since
      std::int32_t microbatch = -1;        // of the exchanges
      for_each_op(plan, stage, [&](const Call& call, const Op& op) {
        const bool computes = op.stream == Stream::kCompute;
        if (exchanges(op)) {
          (is_part(plan, call) ? in_pairs : alone) += 1;
          if (is_part(plan, call)) under_way[op.operands.back().tensor] = false;
          microbatch = call.microbatch;
        }
        if (!computes) return;
        for (const Operand& o : op.operands) {
          const auto found = under_way.find(o.tensor);
          if (found == under_way.end() || o.use == Use::kWrite) continue;
          EXPECT_TRUE(found->second) << plan.blocks[call.block].name << " waits";
          under_way.erase(found);
        }
        for (auto& [tensor, hidden] : under_way) hidden = hidden || call.microbatch != microbatch;
      });
    }
    EXPECT_GT(in_pairs, alone) << name_of(asked.schedule);
  }
}

TEST(PassParts, TheSameTravelsAndIsComputed) {
  for (Asked asked : kAll) {
    const Plan paired = plan_of(asked);
    asked.overlap = ExchangeOverlap::kNone;
    const Plan plain = plan_of(asked);
    for (std::size_t s = 0; s < plain.programs.size(); ++s) {
      std::map<std::string, std::int64_t> ops[2];
      for (const Plan* plan : {&paired, &plain}) {
        for_each_op(*plan, s, [&](const Call& call, const Op& op) {
          ops[plan == &plain ? 1 : 0][std::string(name_of(op)) + std::to_string(call.layer)] += 1;
        });
      }
      EXPECT_EQ(ops[0], ops[1]) << name_of(asked.schedule);
    }
    const auto all = [](const Op&) { return true; };
    EXPECT_EQ(flops_of(paired, all).value, flops_of(plain, all).value);
  }
}

TEST(PassParts, PlansAreSound) {
  for (const Asked& asked : kAll) {
    for (const std::int64_t microbatches : {2, 4, 6, 10}) {
      for (const PlanFault& f : validate(plan_of(asked, tiny_mixture(4), microbatches))) {
        ADD_FAILURE() << name_of(asked.schedule) << ": " << f.text;
      }
    }
  }
}

// As Megatron-Core: one forward pass more before the first backward one.
TEST(PassParts, PairsOfOneForwardOneBackwardHoldOneMicrobatchMore) {
  const Plan plan = plan_of({});
  std::set<std::int32_t> held;
  std::size_t most = 0;
  for (const Call& call : plan.programs[0].calls) {
    const std::string& name = plan.blocks[call.block].name;
    if (name == "embedding.forward") held.insert(call.microbatch);
    most = std::max(most, held.size());
    if (name == "embedding.backward") held.erase(call.microbatch);
  }
  EXPECT_EQ(most, 2U);
}

TEST(PassParts, WithoutExchangesNothingTakesTurns) {
  for (Asked asked : kAll) {
    if (asked.schedule != Schedule::kDualPipe && asked.schedule != Schedule::kDualPipeV) continue;
    Strategy s = split({.pp = 2, .dp = 2});
    s.pipeline.schedule = asked.schedule, s.pipeline.chunks = 2;
    Plan plans[2];
    for (const int i : {0, 1}) {
      s.pipeline.exchange_overlap = i == 0 ? ExchangeOverlap::kSchedule : ExchangeOverlap::kNone;
      plans[i] = make_plan(tiny_llama(4), tiny_workload(16), s);
    }
    ASSERT_EQ(plans[0].programs.size(), plans[1].programs.size());
    for (std::size_t stage = 0; stage < plans[0].programs.size(); ++stage) {
      const std::vector<Call>&a = plans[0].programs[stage].calls,
            &b = plans[1].programs[stage].calls;
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(plans[0].blocks[a[i].block].name, plans[1].blocks[b[i].block].name);
        EXPECT_EQ(a[i].microbatch, b[i].microbatch);
      }
    }
  }
}

}  // namespace plait::pass_parts_test
