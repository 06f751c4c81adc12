// Backward in two passes beside sharded gradients: what a microbatch keeps between them.
#include <algorithm>
#include <map>
#include <string>

#include "plan/memory.h"
#include "plan/schedule.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::zero_bubble_test {

struct Setting {
  Schedule schedule;
  std::int64_t chunks = 1;
  int zero_stage = 2;
};
std::ostream& operator<<(std::ostream& out, const Setting& s) {
  return out << name_of(s.schedule) << ", zero_stage " << s.zero_stage;
}
std::vector<Setting> settings() {
  std::vector<Setting> out;
  for (const int stage : {2, 3}) {
    out.push_back({Schedule::kZbH1, 1, stage}), out.push_back({Schedule::kZb2p, 1, stage});
    out.push_back({Schedule::kZbV, 2, stage}), out.push_back({Schedule::kDualPipe, 2, stage});
  }
  return out;
}

Plan plan_of(const Setting& s) {
  Strategy strategy = split({.pp = 4, .dp = 2}, s.zero_stage);
  strategy.pipeline.schedule = s.schedule, strategy.pipeline.chunks = s.chunks;
  Model m = tiny_gpt(8);
  m.tied_embeddings = false;
  return make_plan(m, tiny_workload(16), strategy);
}

/// Members that are in memory at a time, of the tensors of that name, at most.
std::int64_t most_at_once(const Plan& plan, std::size_t stage, const std::string& name) {
  std::map<std::int64_t, std::int64_t> change;
  for (const Stay& stay : stays(plan, stage)) {
    if (plan.tensors[stay.tensor].name != name) continue;
    ++change[stay.first], --change[stay.last + 1];
  }
  std::int64_t now = 0, most = 0;
  for (const auto& [op, by] : change) most = std::max(most, now += by);
  return most;
}

// W fills a layer's buffer, and what reduces it follows.
TEST(ZeroBubble, ALayersShardedGradientsAreWholeFromItsWOn) {
  for (const Setting& s : settings()) {
    const Plan plan = plan_of(s);
    EXPECT_TRUE(validate(plan).empty()) << s;
    for (std::size_t stage = 0; stage < plan.programs.size(); ++stage) {
      EXPECT_LE(most_at_once(plan, stage, "layer.gradients"), 1) << s << ", stage " << stage;
      EXPECT_LE(most_at_once(plan, stage, "head.gradients"), 1) << s << ", stage " << stage;
    }
  }
}

// In a V the head comes long before the embedding: what either has of a table that is both, or that
// modules behind the head look up too, is reduced by itself.
TEST(ZeroBubble, TheTableOfBothEndsIsReducedBehindEach) {
  for (const Schedule schedule : {Schedule::kZbV, Schedule::kDualPipeV, Schedule::kDualPipe}) {
    for (const bool tied : {true, false}) {
      Strategy strategy = split({.pp = 4, .dp = 2}, 2);
      strategy.pipeline.schedule = schedule, strategy.pipeline.chunks = 2;
      Model m = tiny_llama(8);
      m.tied_embeddings = tied, m.mtp_layers = tied ? 0 : 1;
      const std::int64_t microbatches = 8;
      const Plan plan = make_plan(m, tiny_workload(2 * microbatches), strategy);
      EXPECT_TRUE(validate(plan).empty()) << name_of(schedule) << tied;
      EXPECT_LE(most_at_once(plan, 0, "embedding.gradients"), 1) << name_of(schedule) << tied;
      std::int64_t reductions = 0;
      for (const Call& call : plan.programs[0].calls) {
        for (const Op& op : plan.blocks[call.block].ops) {
          const auto* c = std::get_if<Collective>(&op.body);
          reductions += c != nullptr && c->kind == CollectiveKind::kReduceScatter &&
                        plan.tensors[op.operands[0].tensor].name == "embedding.gradients";
        }
      }
      // Both ways half of the microbatches have the embedding there, and half the head.
      EXPECT_EQ(reductions, (schedule == Schedule::kDualPipe ? 1 : 2) * microbatches);
    }
  }
}

// Between B and W: gradients of two norms, and of the biases that are added behind attention and
// MLP; those of the other biases come with W's products.
TEST(ZeroBubble, BKeepsVectorsOfAMicrobatchForW) {
  const Plan plan = plan_of({Schedule::kZbH1});
  std::map<std::string, std::int64_t> widths;
  for (const Tensor& t : plan.tensors) {
    const std::size_t dot = t.name.rfind(".aside");
    if (dot != std::string::npos && t.name.starts_with("layer.")) {
      EXPECT_EQ(t.scope, Scope::kLayerMicrobatch) << t.name;
      widths[t.name.substr(0, dot)] = t.elements(plan.mesh);
    }
  }
  const std::int64_t h = 16;
  const std::map<std::string, std::int64_t> vectors = {
      {"layer.attention_norm.gamma.grad", h}, {"layer.attention_norm.beta.grad", h},
      {"layer.mlp_norm.gamma.grad", h},       {"layer.mlp_norm.beta.grad", h},
      {"layer.attention_out.bias.grad", h},   {"layer.mlp_down.bias.grad", h}};
  EXPECT_EQ(widths, vectors);
}

// Where gradients are summed whole B adds to them where they are.
TEST(ZeroBubble, WholeGradientsNeedNothingAside) {
  for (const Tensor& t : plan_of({Schedule::kZbH1, 1, 1}).tensors)
    EXPECT_EQ(t.name.find(".aside"), std::string::npos) << t.name;
}

// A checkpoint gives back all that it left out when a gradient arrives, so that what it was made of
// can go before W. Recomputing takes no memory that keeping does not.
TEST(ZeroBubble, BComputesAgainWhatWReads) {
  const auto plan_with = [](Recompute kind) {
    Strategy strategy = split({.pp = 4, .dp = 2}, 1);
    strategy.pipeline.schedule = Schedule::kZbH1;
    strategy.recompute.kind = kind;
    if (kind == Recompute::kModules) strategy.recompute.modules = {RecomputeModule::kActivations};
    return make_plan(tiny_llama(8), tiny_workload(16), strategy);
  };
  const Plan kept = plan_with(Recompute::kNone), again = plan_with(Recompute::kModules);
  std::int64_t in_b = 0;
  for (const Block& block : again.blocks) {
    for (const Op& op : block.ops) {
      if (op.phase != Phase::kRecompute) continue;
      EXPECT_FALSE(block.name.ends_with(".weights")) << block.name;
      ++in_b;
    }
  }
  EXPECT_GT(in_b, 0);
  for (std::size_t stage = 0; stage < kept.programs.size(); ++stage) {
    EXPECT_LE(live_memory(again, stage).peak, live_memory(kept, stage).peak) << stage;
  }
}

}  // namespace plait::zero_bubble_test
