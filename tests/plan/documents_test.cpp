// Sequences that hold documents: which tokens count, what attention computes, what stays as it is.
#include "plan/documents.h"

#include "core/error.h"
#include "plan/memory.h"
#include "tests/plan/tiny.h"

namespace plait::documents_test {

using Lengths = std::vector<std::int64_t>;

Workload with(Documents documents, std::int64_t sequences = 4) {
  Workload w = tiny_workload(sequences, 2);
  w.documents = std::move(documents);
  return w;
}
Documents packed(Lengths lengths) { return {Packing::kPacked, 0, std::move(lengths)}; }
Documents padded(Lengths lengths) { return {Packing::kPadded, 0, std::move(lengths)}; }
Plan plan_of(const Workload& w, Degrees degrees = {}) {
  return make_plan(tiny_llama(), w, split(degrees));
}

bool is_attention(const Op& op) {
  return std::holds_alternative<Attention>(std::get<Compute>(op.body));
}
/// FLOPs that the model needs for sequences of these lengths, each by itself.
Flops alone(const Lengths& lengths) {
  Flops sum;
  for (const std::int64_t s : lengths) sum += megatron_flops_per_iteration(tiny_llama(), s, 1);
  return sum;
}

TEST(PackedDocuments, KEqualOnesLeaveAttentionAKthOfItsFlops) {
  // k squares of (s / k)^2 in place of one of s^2.
  const Plan whole = plan_of(with({}));
  for (const std::int64_t k : {1, 2, 4, 8}) {
    const Plan plan = plan_of(with({Packing::kPacked, 8 / k, {}}));
    EXPECT_DOUBLE_EQ(flops_of(plan, is_attention).value,
                     flops_of(whole, is_attention).value / static_cast<double>(k));
    const auto others = [](const Op& op) { return !is_attention(op); };
    EXPECT_EQ(flops_of(plan, others), flops_of(whole, others));
    EXPECT_EQ(plan.tokens_per_step, whole.tokens_per_step);
  }
}

TEST(PackedDocuments, StandOneBehindTheOtherWithPaddingAsAPartByItself) {
  const DocumentLayout layout = lay_out(packed({3, 4}), 8);
  EXPECT_EQ(layout.bounds, (Lengths{0, 3, 7, 8}));
  EXPECT_EQ(layout.sizes().count, 3);
  EXPECT_EQ(layout.sizes().longest, 4);
  EXPECT_EQ(layout.sizes().squares, 3 * 3 + 4 * 4 + 1 * 1);
  EXPECT_EQ(layout.end_of(5, 8), 7);
}

TEST(PackedDocuments, OfOneLengthFillTheSequence) {
  EXPECT_EQ(lay_out({Packing::kPacked, 3, {}}, 8).bounds, (Lengths{0, 3, 6, 8}));
  EXPECT_EQ(lay_out({Packing::kPacked, 4, {}}, 8).bounds, (Lengths{0, 4, 8}));
  EXPECT_EQ(lay_out({Packing::kPacked, 9, {}}, 8).bounds, (Lengths{0, 8}));
  EXPECT_EQ(lay_out({Packing::kPacked, 3, {}}, 8).end_of(0, 8), 8);
}

TEST(PackedDocuments, CountTokensAndFlopsOfDocumentsAlone) {
  const Plan plan = plan_of(with(packed({3, 4})));
  EXPECT_EQ(plan.tokens_per_step, 4 * (3 + 4));
  EXPECT_DOUBLE_EQ(plan.model_flops.value, 4 * alone({3, 4}).value);
  EXPECT_DOUBLE_EQ(plan.unneeded_flops.value, 4 * alone({1}).value);  // padding
}

TEST(PackedDocuments, UnfusedAttentionComputesWhatItMasks) {
  Workload w = with({Packing::kPacked, 4, {}});
  w.flash_attention = false;
  const Plan plan = plan_of(w);
  EXPECT_DOUBLE_EQ((plan.model_flops + plan.unneeded_flops).value, 4 * alone({8}).value);
  EXPECT_DOUBLE_EQ(plan.model_flops.value, 4 * alone({4, 4}).value);
  for_each_op(plan, 0, [](const Call&, const Op& op) {
    const auto* c = std::get_if<Compute>(&op.body);
    if (c == nullptr || !std::holds_alternative<Attention>(*c)) return;
    EXPECT_EQ(hardware_flops(*c), 2 * 2 * flops(*c));  // above the diagonal, and beside documents
  });
}

TEST(PackedDocuments, AreAttendedToByHeadsUnderUlysses) {
  Strategy s = split({.ulysses = 2});
  s.context.kind = ContextKind::kUlysses;
  const Plan plan = make_plan(tiny_llama(), with(packed({3, 4})), s);
  EXPECT_EQ(flops_of(plan, is_attention), flops_of(plan_of(with(packed({3, 4}))), is_attention));
}

TEST(PackedDocuments, CostWhatTheRankThatSeesMostComputesUnderAllGather) {
  // Chunks of two tokens: rank 0 has 0 1 and 6 7, rank 1 has 2 3 and 4 5. Documents 0 .. 4, 5 .. 6
  // and 7: twice the pairs (a token at offset x sees x + 1/2 keys) are
  //   rank 0: 0 1: 2^2    6: 2^2 - 1^2    7: 1
  //   rank 1: 2 3: 4^2 - 2^2    4: 5^2 - 4^2    5: 1
  const DocumentLayout layout = lay_out(packed({5, 2, 1}), 8);
  const DocumentSizes share = layout.largest_share(2);
  EXPECT_EQ(share.squares, (16 - 4) + (25 - 16) + 1);
  EXPECT_EQ(share.count, 3);
  EXPECT_EQ(share.longest, 5);
  EXPECT_EQ(share.squares + 4 + 3 + 1, layout.sizes().squares);
  const Flops whole = flops_of(plan_of(with(packed({5, 2, 1}))), is_attention);
  const Flops shared = flops_of(plan_of(with(packed({5, 2, 1})), {.cp = 2}), is_attention);
  EXPECT_DOUBLE_EQ(shared.value, whole.value * 2 * 22 / 30);  // both ranks as the slower one
}

TEST(PackedDocuments, WithinAWindowSeeItsTokens) {
  // Twice the pairs of 5 and 3 tokens of which each sees 2: x + 1/2 at offset x, but at most 2.
  const DocumentLayout layout = lay_out(packed({5, 3}), 8);
  EXPECT_EQ(layout.sizes(2).squares, 2 * (0.5 + 1.5 + 2 + 2 + 2 + 0.5 + 1.5 + 2));
  EXPECT_EQ(layout.sizes(9).squares, layout.sizes().squares);
  EXPECT_EQ(layout.largest_share(1, 2).squares, layout.sizes(2).squares);
  EXPECT_EQ(layout.largest_share(2, 2).squares, 2 * (2 + 2 + 2 + 0.5));  // tokens 2 .. 5
}

TEST(PackedDocuments, OfWhichEachChunkHoldsItsOwnAreSharedEvenly) {
  const DocumentLayout layout = lay_out({Packing::kPacked, 2, {}}, 8);
  for (const std::int64_t ranks : {1, 2, 4})
    EXPECT_EQ(layout.largest_share(ranks).squares * ranks, layout.sizes().squares);
}

TEST(PaddedDocuments, CountTokensOfSequencesInTurn) {
  const Plan plan = plan_of(with(padded({5, 8, 2})));
  EXPECT_EQ(plan.tokens_per_step, 5 + 8 + 2 + 5);
  EXPECT_DOUBLE_EQ(plan.model_flops.value, alone({5, 8, 2, 5}).value);
  EXPECT_DOUBLE_EQ((plan.model_flops + plan.unneeded_flops).value, 4 * alone({8}).value);
  const auto all = [](const Op&) { return true; };
  EXPECT_EQ(flops_of(plan, all), flops_of(plan_of(with({})), all));
}

TEST(Documents, LeaveMemoryAsItIs) {
  for (const bool fused : {true, false}) {
    Workload whole = with({});
    whole.flash_attention = fused;
    for (const Documents& documents : {packed({3, 4}), padded({5})}) {
      Workload w = whole;
      w.documents = documents;
      EXPECT_EQ(live_memory(plan_of(w), 0).peak, live_memory(plan_of(whole), 0).peak);
    }
  }
}

TEST(Documents, OfWhichNothingIsSaidChangeNothing) {
  for (const Documents& documents :
       {Documents{Packing::kNone, 3, {}}, Documents{Packing::kPacked, 0, {}}}) {
    const Plan plan = plan_of(with(documents));
    EXPECT_FALSE(plan.documents.any());
    EXPECT_EQ(plan.tokens_per_step, 4 * 8);
    EXPECT_EQ(plan.model_flops, megatron_flops_per_iteration(tiny_llama(), 8, 4));
    EXPECT_EQ(plan.unneeded_flops.value, 0);
  }
}

std::string refusal_of(const Workload& w, const Strategy& s = {}) {
  try {
    make_plan(tiny_llama(), w, s);
  } catch (const InputError& e) {
    EXPECT_FALSE(e.text().cure.empty());
    return e.text().code + " " + e.text().where.path;
  }
  return "planned";
}

TEST(DocumentsAreRefused, WithALengthAndAListOfThem) {
  for (const Packing packing : {Packing::kPacked, Packing::kPadded})
    EXPECT_EQ(refusal_of(with({packing, 3, {3}})), "S131 workload.documents");
}

TEST(DocumentsAreRefused, WhereTheyAreLongerThanTheirSequence) {
  for (const Documents& long_ones : {packed({5, 4}), padded({4, 9}), {Packing::kPadded, 9, {}}})
    EXPECT_EQ(refusal_of(with(long_ones)), "S132 workload.documents");
}

TEST(DocumentsAreRefused, PackedWhereTheirKeysTravelRoundARing) {
  Strategy s = split({.cp = 2});
  EXPECT_EQ(refusal_of(with(packed({3, 4})), s), "planned");
  s.context.kind = ContextKind::kRing;
  EXPECT_EQ(refusal_of(with(packed({3, 4})), s), "S133 strategy.context.kind");
  EXPECT_EQ(refusal_of(with(padded({5})), s), "planned");
}

TEST(DocumentsAreRefused, WhereTheyAreMoreThanAMillion) {
  Workload w = with({Packing::kPacked, 2, {}});
  w.sequence_length = 1 << 21;
  EXPECT_EQ(refusal_of(w), "S134 workload.documents.length");
}

}  // namespace plait::documents_test
