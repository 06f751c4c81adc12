// What hides communication over tp: nothing, the weights' gradients, products in pieces. The bytes
// and the products are the same.
#include "tests/plan/tiny.h"

namespace plait::tensor_overlap_test {

Plan plan_of(std::int64_t tp, TensorOverlap overlap) {
  Strategy s = split({.tp = tp});
  s.sequence_parallel = true, s.tensor.overlap = overlap;
  Model m = tiny_llama();
  m.kv_heads = m.heads;
  return make_plan(m, tiny_workload(2, 2), s);
}
bool is_matmul(const Op& op) { return std::holds_alternative<MatMul>(std::get<Compute>(op.body)); }

// Two gathers and two reduce_scatters of a layer's forward pass become four rings of n - 1 messages
// of an n-th each, which is what the whole ones send (Patarasuk and Yuan 2009).
TEST(TensorInPieces, RingsSendWhatTheWholeCollectivesDo) {
  for (const std::int64_t n : {2, 4}) {
    const Block whole = block_named(plan_of(n, TensorOverlap::kWeightGrad), "layer.forward"),
                pieces = block_named(plan_of(n, TensorOverlap::kRing), "layer.forward");
    const Volume gathered = traffic(whole, CollectiveKind::kAllGather, Axis::kTp),
                 scattered = traffic(whole, CollectiveKind::kReduceScatter, Axis::kTp);
    EXPECT_EQ(gathered.count, 2);
    EXPECT_EQ(scattered.count, 2);
    EXPECT_EQ(traffic(pieces, CollectiveKind::kShift, Axis::kTp),
              (Volume{4 * (n - 1), (gathered.bytes + scattered.bytes) * (n - 1) / n}));
    EXPECT_EQ(collectives(pieces), 4 * (n - 1));
  }
}

TEST(TensorInPieces, ProductsAreTheSameInNPieces) {
  for (const std::int64_t n : {2, 4}) {
    const Plan whole = plan_of(n, TensorOverlap::kWeightGrad),
               pieces = plan_of(n, TensorOverlap::kRing);
    EXPECT_EQ(flops_of(pieces, is_matmul).value, flops_of(whole, is_matmul).value);
    std::int64_t products = 0;
    for (const Op& op : block_named(pieces, "layer.forward").ops) {
      const Compute* c = std::get_if<Compute>(&op.body);
      const MatMul* g = c ? std::get_if<MatMul>(c) : nullptr;
      if (g == nullptr) continue;
      ++products;
      EXPECT_EQ(g->m, 8 * 2 / n);  // tokens of a rank's share
    }
    EXPECT_EQ(products, 4 * n);
  }
}

TEST(TensorInPieces, BackwardHidesWholeCollectivesBehindTheOtherProduct) {
  const Plan whole = plan_of(2, TensorOverlap::kWeightGrad),
             pieces = plan_of(2, TensorOverlap::kRing);
  EXPECT_EQ(collectives(block_named(pieces, "layer.backward")),
            collectives(block_named(whole, "layer.backward")));
}

// ---- nothing hidden

/// "dx", "dw" and "sum", in the order of the block: products of backward and collectives over tp.
std::vector<std::string> products_and_sums(const Block& block) {
  std::vector<std::string> out;
  for (const Op& op : block.ops) {
    if (const auto* c = std::get_if<Collective>(&op.body)) {
      out.emplace_back(c->kind == CollectiveKind::kAllGather ? "gather" : "sum");
    } else if (const auto* g = std::get_if<MatMul>(&std::get<Compute>(op.body))) {
      out.emplace_back(g->pass == Pass::kWeightGrad ? "dw" : "dx");
    }
  }
  return out;
}

TEST(TensorWithoutOverlap, SumsComeBehindBothProducts) {
  Strategy s = split({.tp = 2});
  const auto backward = [&] {
    return products_and_sums(
        block_named(make_plan(tiny_gpt(), tiny_workload(2, 2), s), "layer.backward"));
  };
  using Order = std::vector<std::string>;
  EXPECT_EQ(backward(), (Order{"dx", "dw", "dx", "sum", "dw", "dx", "dw", "dx", "sum", "dw"}));
  s.tensor.overlap = TensorOverlap::kNone;
  EXPECT_EQ(backward(), (Order{"dx", "dw", "dw", "dx", "sum", "dx", "dw", "dw", "dx", "sum"}));
}

// dx of gate and up, and of queries, keys and values, is one sum of two and of three projections'
// gradients; that of what they read forward is of one.
TEST(TensorWithoutOverlap, SumsKnowWhichProjectionsShareTheirInput) {
  const Plan plan = make_plan(tiny_llama(), tiny_workload(2, 2), split({.tp = 2}));
  const auto projections = [&](const char* block) {
    std::vector<std::int64_t> out;
    for (const Op& op : block_named(plan, block).ops) {
      if (const auto* c = std::get_if<Collective>(&op.body)) out.push_back(c->projections);
    }
    return out;
  };
  EXPECT_EQ(projections("layer.backward"), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(projections("layer.forward"), (std::vector<std::int64_t>{1, 1}));
}

// Of heads that share keys: four queries' columns to two of keys and of values.
TEST(Projections, ProductsKnowWhatIsPackedInTheirMatrix) {
  const Model m = tiny_llama();
  const Plan plan = make_plan(m, tiny_workload(2, 2), split({.tp = 2}));
  const std::array<std::int64_t, 3> heads = {m.query_width(), m.key_width(), m.key_width()},
                                    gate = {m.ffn_hidden, m.ffn_hidden, 0};
  std::vector<PackedProjections> packed;
  for (const Op& op : block_named(plan, "layer.forward").ops) {
    const Compute* c = std::get_if<Compute>(&op.body);
    if (const MatMul* g = c ? std::get_if<MatMul>(c) : nullptr) packed.push_back(g->packed);
  }
  ASSERT_EQ(packed.size(), 4U);  // in, out, up, down
  EXPECT_EQ(packed[0].columns, heads);
  EXPECT_FALSE(packed[0].gate);
  EXPECT_EQ(packed[2].columns, gate);
  EXPECT_TRUE(packed[2].gate);
  for (const std::size_t one : {1U, 3U}) EXPECT_EQ(packed[one].columns[0], 0);
}

// What a product reads is kept whole, which is what it costs not to gather it again: of each of the
// two gathered inputs, tp - 1 shares more.
TEST(TensorWithoutOverlap, BackwardReadsWhatForwardGathered) {
  const Plan hidden = plan_of(2, TensorOverlap::kWeightGrad),
             waits = plan_of(2, TensorOverlap::kNone);
  const auto gathers = [](const Plan& p, const char* block) {
    return traffic(block_named(p, block), CollectiveKind::kAllGather, Axis::kTp).count;
  };
  EXPECT_EQ(gathers(waits, "layer.forward"), gathers(hidden, "layer.forward"));
  EXPECT_EQ(gathers(hidden, "layer.backward") - gathers(waits, "layer.backward"), 2);
  const auto kept = [](const Plan& p) {
    std::int64_t bytes = 0;
    for (const Tensor& t : p.tensors) {
      if (t.scope == Scope::kLayerMicrobatch && t.kind == TensorClass::kActivation)
        bytes += t.bytes(p.mesh).value;
    }
    return bytes;
  };
  const Model m = tiny_llama();
  const Workload w = tiny_workload(2, 2);
  const std::int64_t input = w.sequence_length * w.micro_batch * m.hidden * 2;
  EXPECT_EQ(kept(waits) - kept(hidden), 2 * input / 2);
}

}  // namespace plait::tensor_overlap_test
