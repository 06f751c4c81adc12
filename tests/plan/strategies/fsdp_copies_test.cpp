// Copies around the collectives of sharded parameters, against the bytes that the frameworks'
// sources give them (plan/strategies/fsdp_copies.cpp): P parameters in w = 2 bytes, gradients on
// the wire in g = 4.
#include <algorithm>
#include <map>

#include "plan/memory.h"
#include "tests/plan/tiny.h"

namespace plait::fsdp_copies_test {

constexpr std::int64_t kMicrobatches = 2;

Plan plan_of(FsdpCopies copies, DType wire = DType::kFp32) {
  Strategy s = split({.fsdp = 4}, 3);
  s.fsdp.copies = copies;
  Workload w = tiny_workload(4 * kMicrobatches);
  w.precision.reduction = w.precision.gradients = wire;
  return make_plan(tiny_llama(4), w, s);
}

/// Of all units.
std::int64_t parameters(const Plan& plan) {
  std::int64_t n = 0;
  for (const char* unit : {"embedding", "layer", "head"}) {
    const Tensor t = tensor_named(plan, std::string(unit) + ".weights");
    n += t.elements(plan.mesh) * (t.scope == Scope::kLayer ? plan.layers : 1);
  }
  return n;
}

/// Bytes that copies of whole units read and write in a step, by stream.
std::map<Stream, std::int64_t> copied(const Plan& plan, Phase phase) {
  std::map<Stream, std::int64_t> bytes;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Compute* c = std::get_if<Compute>(&op.body);
    if (c == nullptr || !std::holds_alternative<Cast>(*c) || op.phase != phase) return;
    const Tensor& from = plan.tensors[op.operands[0].tensor];
    if (from.dims[0].sharded.empty()) bytes[op.stream] += memory_traffic(*c).value;
  });
  return bytes;
}

using Copied = std::map<Stream, std::int64_t>;

TEST(FsdpCopies, WithoutThemWeightsAndGradientsAreWhereTheyTravel) {
  const Plan plan = plan_of(FsdpCopies::kNone);
  EXPECT_EQ(copied(plan, Phase::kParamGather), Copied{});
  EXPECT_EQ(copied(plan, Phase::kGradSync), Copied{});
  EXPECT_EQ(tensor_named(plan, "layer.gradients").dtype, DType::kFp32);
}

TEST(FsdpCopies, Fsdp2CopiesEveryGatherAndEveryGradientOnTheComputeStream) {
  const Plan plan = plan_of(FsdpCopies::kFsdp2);
  const std::int64_t p = parameters(plan);
  std::int64_t gathered = 0;  // the head's backward pass uses what its forward pass has gathered
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Collective* c = std::get_if<Collective>(&op.body);
    if (c != nullptr && c->kind == CollectiveKind::kAllGather) gathered += c->elements;
  });
  EXPECT_GT(gathered, kMicrobatches * p);
  EXPECT_EQ(copied(plan, Phase::kParamGather), (Copied{{Stream::kCompute, (2 + 2) * gathered}}));
  EXPECT_EQ(copied(plan, Phase::kGradSync),
            (Copied{{Stream::kCompute, kMicrobatches * (2 + 4) * p}}));
}

TEST(FsdpCopies, Fsdp1ConcatenatesGradientsOnTheComputeStreamAndCastsThemBeside) {
  const Plan narrow = plan_of(FsdpCopies::kFsdp1, DType::kBf16);
  const Plan wide = plan_of(FsdpCopies::kFsdp1);
  const std::int64_t all = kMicrobatches * parameters(narrow);
  for (const Plan& plan : {narrow, wide}) EXPECT_EQ(copied(plan, Phase::kParamGather), Copied{});
  EXPECT_EQ(copied(narrow, Phase::kGradSync), (Copied{{Stream::kCompute, (2 + 2) * all}}));
  EXPECT_EQ(copied(wide, Phase::kGradSync),
            (Copied{{Stream::kCompute, (2 + 2) * all}, {Stream::kGradSync, (2 + 4) * all}}));
}

TEST(FsdpCopies, DeepSpeedCopiesBesideComputation) {
  const Plan plan = plan_of(FsdpCopies::kDeepSpeed);
  const std::int64_t all = kMicrobatches * parameters(plan);
  EXPECT_FALSE(copied(plan, Phase::kParamGather).contains(Stream::kCompute));
  EXPECT_EQ(copied(plan, Phase::kGradSync), (Copied{{Stream::kGradSync, (2 + 2 + 2 + 4) * all}}));
}

TEST(FsdpCopies, GradientsAreWrittenInTheWeightsTypeAndReducedInTheWires) {
  for (FsdpCopies copies : {FsdpCopies::kFsdp1, FsdpCopies::kFsdp2, FsdpCopies::kDeepSpeed}) {
    const Plan plan = plan_of(copies);
    EXPECT_EQ(tensor_named(plan, "layer.gradients").dtype, DType::kBf16);
    for_each_op(plan, 0, [&](const Call&, const Op& op) {
      const Compute* compute = std::get_if<Compute>(&op.body);
      const MatMul* g = compute ? std::get_if<MatMul>(compute) : nullptr;
      if (g != nullptr && g->pass == Pass::kWeightGrad) {
        EXPECT_EQ(g->out, DType::kBf16);
      }
      const Collective* c = std::get_if<Collective>(&op.body);
      if (c != nullptr && c->kind == CollectiveKind::kReduceScatter) {
        EXPECT_EQ(c->dtype, DType::kFp32);
      }
    });
  }
}

/// The stays of the tensor, in the order in which they begin.
std::vector<Stay> stays_of(const Plan& plan, std::string_view name) {
  std::vector<Stay> out;
  for (const Stay& s : stays(plan, 0)) {
    if (plan.tensors[s.tensor].name == name) out.push_back(s);
  }
  std::ranges::sort(out, {}, &Stay::first);
  return out;
}

TEST(FsdpCopies, WhatArrivesIsFreedBeforeTheNextUnitArrives) {
  const std::vector<Stay> all = stays_of(plan_of(FsdpCopies::kFsdp2), "layer.weights.arrived");
  ASSERT_GT(all.size(), 4U);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].last, all[i].first);
}

TEST(FsdpCopies, Fsdp2HasOneBufferOfGradientsToReduce) {
  const Plan plan = plan_of(FsdpCopies::kFsdp2);
  EXPECT_EQ(tensor_named(plan, "layer.gradients.in_order").scope, Scope::kRole);
  EXPECT_EQ(tensor_named(plan_of(FsdpCopies::kFsdp1), "layer.gradients.flat").scope, Scope::kCall);
}

}  // namespace plait::fsdp_copies_test
