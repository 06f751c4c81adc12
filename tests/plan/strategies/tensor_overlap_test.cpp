// Tensor parallelism in pieces: the same bytes and the same products, one share at a time.
#include "tests/plan/tiny.h"

namespace plait {
namespace {

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
    const Block whole = block_named(plan_of(n, TensorOverlap::kNone), "layer.forward"),
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
    const Plan whole = plan_of(n, TensorOverlap::kNone), pieces = plan_of(n, TensorOverlap::kRing);
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
  const Plan whole = plan_of(2, TensorOverlap::kNone), pieces = plan_of(2, TensorOverlap::kRing);
  EXPECT_EQ(collectives(block_named(pieces, "layer.backward")),
            collectives(block_named(whole, "layer.backward")));
}

}  // namespace
}  // namespace plait
