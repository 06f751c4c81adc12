// Sliding windows: which layers have them, and that nothing else differs.
#include "core/error.h"
#include "model/iteration_flops.h"
#include "plan/memory.h"
#include "plan/requests.h"
#include "plan/serving.h"
#include "tests/plan/tiny.h"

namespace plait::windows_test {

using Windows = std::vector<std::int64_t>;

Model windowed(std::int64_t window, std::int64_t every = 0, std::int64_t first = 0) {
  Model m = tiny_llama(4);
  m.attention_window = window, m.full_attention_every = every, m.full_attention_first = first;
  return m;
}
Plan plan_of(const Model& m, Degrees degrees = {}, ContextKind kind = ContextKind::kAllGather) {
  Strategy s = split(degrees);
  s.context.kind = kind;
  return make_plan(m, tiny_workload(2), s);
}

/// Windows of the first stage's layers, in order of their forward passes, of the first microbatch.
Windows windows_of(const Plan& plan) {
  Windows out;
  for_each_op(plan, 0, [&](const Call& call, const Op& op) {
    const Compute* c = std::get_if<Compute>(&op.body);
    const Attention* a = c ? std::get_if<Attention>(c) : nullptr;
    if (a != nullptr && a->pass == Pass::kForward && call.microbatch == 0) out.push_back(a->window);
  });
  return out;
}

TEST(Windows, AreInTheLayersThatTheModelSays) {
  EXPECT_EQ(windows_of(plan_of(windowed(3))), (Windows{3, 3, 3, 3}));
  EXPECT_EQ(windows_of(plan_of(windowed(3, 2))), (Windows{3, 0, 3, 0}));  // counted from 1
  EXPECT_EQ(windows_of(plan_of(windowed(3, 3))), (Windows{3, 3, 0, 3}));
  EXPECT_EQ(windows_of(plan_of(windowed(3, 0, 1))), (Windows{0, 3, 3, 3}));
  EXPECT_EQ(windows_of(plan_of(windowed(3, 3, 1))), (Windows{0, 3, 0, 3}));
  EXPECT_EQ(windows_of(plan_of(windowed(3, 1))), (Windows{0, 0, 0, 0}));
  Model m = windowed(3, 2);
  m.experts = 4, m.experts_per_token = 2, m.expert_ffn_hidden = 12, m.first_dense_layers = 2;
  EXPECT_EQ(windows_of(plan_of(m)), (Windows{3, 0, 3, 0}));
  m.mtp_layers = 1;  // like the last layer
  EXPECT_EQ(windows_of(plan_of(m)), (Windows{3, 0, 3, 0, 0}));
}

TEST(Windows, ChangeNeitherTensorsNorMemory) {
  const Plan all = plan_of(windowed(0)), some = plan_of(windowed(3, 2));
  ASSERT_EQ(all.tensors.size(), some.tensors.size());
  for (std::size_t i = 0; i < all.tensors.size(); ++i) {
    EXPECT_EQ(all.tensors[i].name, some.tensors[i].name);
  }
  EXPECT_EQ(live_memory(all, 0).peak, live_memory(some, 0).peak);
}

TEST(Windows, OfWhichOpsTogetherDoTheFlopsThatTheModelNeeds) {
  const auto all = [](const Op&) { return true; };
  const Model m = windowed(3, 2);
  const double needed = needed_flops_per_iteration(m, 8, 2).value;
  EXPECT_DOUBLE_EQ(flops_of(plan_of(m), all).value, needed);
  EXPECT_DOUBLE_EQ(flops_of(plan_of(m, {.pp = 2}), all).value, needed);
  EXPECT_DOUBLE_EQ(flops_of(plan_of(m, {.ulysses = 2}, ContextKind::kUlysses), all).value, needed);
  EXPECT_EQ(plan_of(m).model_flops, megatron_flops_per_iteration(m, 8, 2));
}

TEST(Windows, CostWhatTheRankThatSeesMostComputesUnderAllGather) {
  // Chunks of 2 tokens, which see 1/2, 3/2, 5/2 and then 3 keys: rank 0 has tokens 0 1 6 7 and so 8
  // pairs, rank 1 has 2 3 4 5 and 11 1/2. Each counts as the slower one.
  const auto attention = [](const Op& op) {
    return std::holds_alternative<Attention>(std::get<Compute>(op.body));
  };
  const double whole = flops_of(plan_of(windowed(3)), attention).value;
  EXPECT_DOUBLE_EQ(flops_of(plan_of(windowed(3), {.cp = 2}), attention).value,
                   whole * 2 * 11.5 / (8 + 11.5));
}

std::string refusal_of(const Model& m, ContextKind kind) {
  try {
    plan_of(m, {.cp = 2}, kind);
  } catch (const InputError& e) {
    return e.text().code + " " + e.text().where.path;
  }
  return "";
}

TEST(Windows, DoNotTravelRoundARing) {
  EXPECT_EQ(refusal_of(windowed(3, 2), ContextKind::kRing), "S135 strategy.context.kind");
  EXPECT_EQ(refusal_of(windowed(3, 2), ContextKind::kAllGather), "");
  EXPECT_EQ(refusal_of(windowed(8), ContextKind::kRing), "");  // of the whole sequence
}

/// Keys that a step's attention reads, layer by layer.
Windows keys_of(const Model& m, const Step& step) {
  ServingLayout layout;
  layout.map = even_layers(m.layers, 1);
  const Plan plan = make_serving_plan(m, step, {}, layout, 1);
  Windows out;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Compute* c = std::get_if<Compute>(&op.body);
    if (const Attention* a = c ? std::get_if<Attention>(c) : nullptr) out.push_back(a->seq_kv);
  });
  return out;
}

TEST(Windows, OfAServedModelLeaveTheCacheBeforeThemUnread) {
  EXPECT_EQ(keys_of(windowed(3, 2), {{}, {4, 1, 100}, 4}), (Windows{3, 100, 3, 100}));
  EXPECT_EQ(keys_of(windowed(3, 2), {{}, {4, 1, 2}, 4}), (Windows{2, 2, 2, 2}));
  // The first of 10 new tokens sees 2 older ones.
  EXPECT_EQ(keys_of(windowed(3), {{1, 10, 100}, {}, 1}), (Windows{12, 12, 12, 12}));
}

}  // namespace plait::windows_test
