// llama.cpp's split by rows: what each device holds, and what goes to and fro for each product.
#include <gtest/gtest.h>

#include "core/error.h"
#include "plan/memory.h"
#include "plan/serving.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::row_split_test {

ServingLayout by_rows(const Model& m, std::int64_t devices) {
  ServingLayout l{split({.tp = devices}).mesh, even_layers(m.layers, 1)};
  l.row_split = devices > 1;
  return l;
}
Plan planned(const Model& m, std::int64_t devices, const Step& step = {{}, {5, 1, 8}, 5}) {
  return make_serving_plan(m, step, {}, by_rows(m, devices), 64);
}
std::int64_t sent(const Plan& plan, CollectiveKind kind) {
  std::int64_t bytes = 0;
  for (const Call& call : plan.programs[0].calls) {
    for (const Op& op : plan.blocks[call.block].ops) {
      const auto* c = std::get_if<Collective>(&op.body);
      if (c != nullptr && c->kind == kind) bytes += c->bytes().value;
    }
  }
  return bytes;
}
std::int64_t weights(const Plan& plan) {
  return live_memory(plan, 0).by_class[static_cast<std::size_t>(TensorClass::kWeight)].value;
}

TEST(RowSplit, IsSound) {
  const Model m = tiny_llama();
  for (const std::int64_t devices : {2, 4}) {
    const auto faults = validate(planned(m, devices, {{2, 3, 5}, {4, 1, 6}, 5}));
    EXPECT_TRUE(faults.empty()) << faults.front().text;
  }
}

TEST(RowSplit, EachDeviceHasItsShareOfEveryMatrixAndAllElse) {
  const Model m = tiny_llama();
  const std::int64_t matrices =
      2 * (m.layers * m.hidden * (m.qkv_width() + m.query_width() + 3 * m.ffn_hidden) +
           m.hidden * m.vocab);
  EXPECT_EQ(weights(planned(m, 1)) - weights(planned(m, 2)), matrices / 2);
}

// Inputs of the four products of a layer and of the output matrix go out; their results come back.
TEST(RowSplit, SendsInputsAndCollectsResultsOfEveryProduct) {
  const Model m = tiny_llama();
  const Plan plan = planned(m, 2);
  const std::int64_t in = 2 * m.hidden + m.query_width() + m.ffn_hidden;
  const std::int64_t out = m.qkv_width() + 2 * m.hidden + 2 * m.ffn_hidden;
  EXPECT_EQ(sent(plan, CollectiveKind::kBroadcast), 2 * 5 * (m.layers * in + m.hidden));
  EXPECT_EQ(sent(plan, CollectiveKind::kAllGather), 2 * 5 * (m.layers * out + m.vocab));
  EXPECT_EQ(sent(plan, CollectiveKind::kAllReduce), 0);
}

// Heads are not divided: attention runs on the layer's device alone.
TEST(RowSplit, AttentionIsWhole) {
  const auto heads = [](const Plan& plan) {
    for (const Block& block : plan.blocks) {
      for (const Op& op : block.ops) {
        const auto* c = std::get_if<Compute>(&op.body);
        const Attention* a = c == nullptr ? nullptr : std::get_if<Attention>(c);
        if (a != nullptr) return a->heads;
      }
    }
    return std::int64_t{0};
  };
  EXPECT_EQ(heads(planned(tiny_llama(), 2)), tiny_llama().heads);
}

TEST(RowSplit, RefusesStagesExpertsAndRowsThatDoNotShareEvenly) {
  const auto code = [](const Model& m, const ServingLayout& l) -> std::string {
    try {
      make_serving_plan(m, {{}, {1, 1, 4}, 1}, {}, l, 8);
    } catch (const InputError& e) {
      return e.text().code;
    }
    return "";
  };
  ServingLayout stages{split({.pp = 2, .tp = 2}).mesh, even_layers(2, 2)};
  stages.row_split = true;
  EXPECT_EQ(code(tiny_llama(), stages), "S192");
  Model mixture = tiny_llama();
  mixture.experts = 4, mixture.experts_per_token = 2, mixture.expert_ffn_hidden = 8;
  EXPECT_EQ(code(mixture, by_rows(mixture, 2)), "S192");
  Model odd = tiny_llama();
  odd.vocab = 97;
  EXPECT_EQ(code(odd, by_rows(odd, 2)), "S192");
}

}  // namespace plait::row_split_test
