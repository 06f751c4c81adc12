// The loss that takes a microbatch's tokens in pieces.
#include <set>

#include "core/error.h"
#include "plan/memory.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::head_test {

constexpr std::int64_t kTokens = 8;

Plan plan_of(std::int64_t pieces, Strategy strategy = split({}), std::int64_t batch = 1) {
  Workload w = tiny_workload(batch);
  w.loss_pieces = pieces;
  return make_plan(tiny_llama(), w, strategy);
}

/// Of all products with the output matrix, whose rows or columns are the vocabulary.
double output_flops(const Plan& plan) {
  double sum = 0;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const auto* c = std::get_if<Compute>(&op.body);
    const auto* g = c == nullptr ? nullptr : std::get_if<MatMul>(c);
    const std::int64_t vocab = tiny_llama().vocab;
    if (g != nullptr && (g->m == vocab || g->n == vocab || g->k == vocab)) sum += flops(*g).value;
  });
  return sum;
}

TEST(LossInPieces, LogitsAreThoseOfOnePiece) {
  for (const std::int64_t pieces : {1, 2, 8}) {
    const Plan plan = plan_of(pieces);
    for (const Tensor& t : plan.tensors) {
      if (t.name != "logits") continue;
      EXPECT_EQ(t.elements(plan.mesh), kTokens / pieces * tiny_llama().vocab);
    }
    EXPECT_TRUE(validate(plan).empty());
  }
}

/// Positions of a piece, of two sequences.
std::int64_t positions_of_a_piece(std::int64_t length, Strategy strategy = split({})) {
  Model m = tiny_llama();
  m.vocab = 32 * m.hidden;
  Workload w = tiny_workload(2);
  w.micro_batch = 2, w.sequence_length = length, w.loss_pieces = kLigersLossPieces;
  const Plan plan = make_plan(m, w, std::move(strategy));
  EXPECT_TRUE(validate(plan).empty());
  return tensor_named(plan, "logits").dims[0].global;
}

// A vocabulary 32 times as wide as the hidden states: of 2 x 4,096 tokens 256 at a time, of 2 x 96
// tokens 6 and so 8. Where that cuts a sequence into pieces of several sizes they are larger: of 2
// x 90 tokens 8 at a time make 22 pieces and a rest, here 18. Ranks that split the vocabulary take
// all at once.
TEST(LossInPieces, OfLigerMakesLogitsAsLargeAsHiddenStates) {
  EXPECT_EQ(positions_of_a_piece(4096), 256 / 2);
  EXPECT_EQ(positions_of_a_piece(96), 96 / 24);
  EXPECT_EQ(positions_of_a_piece(90), 90 / 18);
  EXPECT_EQ(positions_of_a_piece(4096, split({.tp = 2})), 4096);
}

/// The logits' casts and the types that the loss reads, over the step.
struct LossTypes {
  int casts = 0;
  std::set<DType> read;
};
LossTypes loss_types(const Plan& plan) {
  LossTypes out;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const auto* c = std::get_if<Compute>(&op.body);
    if (c != nullptr && std::holds_alternative<Cast>(*c)) ++out.casts;
    const auto* loss = c == nullptr ? nullptr : std::get_if<CrossEntropy>(c);
    if (loss == nullptr || loss->step == CrossEntropy::Step::kLoss) return;
    out.read.insert(loss->dtype);
    EXPECT_EQ(plan.tensors[op.operands[0].tensor].dtype, loss->dtype);
  });
  return out;
}

// Two casts for each microbatch go, and with them the copy in fp32; of a vocabulary over tp too,
// where row maxima and sums, which ranks reduce, stay in fp32.
TEST(NarrowLogits, AreReadAsTheProductWritesThem) {
  for (const std::int64_t tp : {1, 2}) {
    Workload w = tiny_workload(2);
    const Plan wide = make_plan(tiny_llama(), w, split({.tp = tp}));
    w.precision.narrow_logits = true;
    const Plan narrow = make_plan(tiny_llama(), w, split({.tp = tp}));
    EXPECT_EQ(loss_types(wide).read, std::set{DType::kFp32});
    EXPECT_EQ(loss_types(narrow).read, std::set{DType::kBf16});
    EXPECT_EQ(loss_types(wide).casts - loss_types(narrow).casts, 2 * 2);
    for (const Tensor& t : narrow.tensors) {
      if (t.name == "logit_sums") {
        EXPECT_EQ(t.dtype, DType::kFp32);
      }
    }
    EXPECT_TRUE(validate(narrow).empty());
  }
}

TEST(LossInPieces, MultipliesTheSameTokensByTheSameMatrix) {
  EXPECT_GT(output_flops(plan_of(1)), 0);
  EXPECT_EQ(output_flops(plan_of(4)), output_flops(plan_of(1)));
}

TEST(LossInPieces, ShardedGradientsAreWrittenByTheFirstPieceAlone) {
  const Plan plan = plan_of(4, split({.fsdp = 2}, 3), 2);
  int written = 0, added = 0;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    for (const Operand& o : op.operands) {
      if (plan.tensors[o.tensor].name != "output.weight.grad") continue;
      (o.use == Use::kWrite ? written : added) += 1;
    }
  });
  EXPECT_EQ(written, 1);
  EXPECT_EQ(added, 3);
}

TEST(LossInPieces, DividesTheTokensOfARankAndIsNotSplitFurther) {
  EXPECT_THROW(plan_of(3), InputError);
  EXPECT_THROW(plan_of(2, split({.tp = 2})), InputError);
  Strategy zero_bubble = split({.pp = 2});
  zero_bubble.pipeline.schedule = Schedule::kZbH1;
  EXPECT_THROW(plan_of(2, zero_bubble, 2), InputError);
}

}  // namespace plait::head_test
