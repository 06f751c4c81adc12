// Low-rank adapters beside frozen products in 8 and 4 bits, run for real. In double precision
// nothing is rounded to fp8, so what is cast, gathered and kept must leave the adapters' gradients
// as they are without; nvfp4 is rounded in bf16.
#include <gtest/gtest.h>

#include "realrun/verify.h"
#include "tests/realrun/verify_models.h"

namespace plait::lora_narrow_test {

using T = AdapterTarget;

Workload adapted(const Precision& precision, std::vector<T> targets) {
  Workload w = small_workload();
  w.precision = precision;
  w.lora = {3, 6, std::move(targets)};
  return w;
}
Precision narrow(DType products, NarrowWeights weights = NarrowWeights::kNone) {
  Precision p = small_workload().precision;
  p.matmul = products, p.narrow_weights = weights;
  return p;
}
const std::vector<T> kPacked = {T::kQkv, T::kOut, T::kUp, T::kDown};

Verification verified(const Model& model, const Workload& w, const Strategy& s,
                      const Workload& reference) {
  const RunPrecision precision = RunPrecision::kFp64;
  const Plan plan = make_plan(model, in_precision(w, precision), s);
  const Plan whole = make_plan(model, in_precision(reference, precision), Strategy{});
  return verify(model, plan, whole, precision);
}

/// Against the same adapters beside products in the weights' type.
void expect_gradients_of_plain_products(const Model& model, const Precision& precision,
                                        const Strategy& s, const std::vector<T>& targets) {
  const Workload w = adapted(precision, targets);
  const Workload plain = adapted(small_workload().precision, targets);
  const Verification v = verified(model, w, s, plain);
  EXPECT_TRUE(passes(v, tolerance_of(RunPrecision::kFp64)))
      << model.name << " " << v.worst_tensor << " " << v.worst_error;
  EXPECT_EQ(v.held, v.planned);
}

TEST(LoraNarrow, GradientsAreThoseBesidePlainProductsWhateverIsSharded) {
  for (const DType type : {DType::kFp8, DType::kNvfp4}) {
    for (const int stage : {0, 1, 2, 3}) {
      for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
        Strategy s;
        s.mesh[Axis::kDp] = 2, s.mesh[Axis::kTp] = 2;
        s.sequence_parallel = stage > 0;
        s.zero_stage = stage, s.recompute.kind = recompute;
        expect_gradients_of_plain_products(small_llama(), narrow(type), s, kPacked);
        expect_gradients_of_plain_products(small_gpt(), narrow(type), s, {T::kQkv});
      }
    }
  }
}

TEST(LoraNarrow, GradientsOfFewTargetsAndOfStagesToo) {
  for (const std::vector<T>& targets :
       {std::vector<T>{T::kOut}, std::vector<T>{T::kDown}, std::vector<T>{T::kQ, T::kV, T::kUp}}) {
    Strategy s;
    s.mesh[Axis::kPp] = 2, s.mesh[Axis::kTp] = 2;
    s.sequence_parallel = true;
    expect_gradients_of_plain_products(small_llama(), narrow(DType::kFp8), s, targets);
    s.recompute.kind = Recompute::kSelective;
    expect_gradients_of_plain_products(small_llama(), narrow(DType::kNvfp4), s, targets);
  }
}

TEST(LoraNarrow, FrozenWeightsThatAreKeptNarrowAreTheRightOnes) {
  for (const NarrowWeights weights : {NarrowWeights::kGathered, NarrowWeights::kKept}) {
    for (const int stage : {0, 1, 2, 3}) {
      Strategy s;
      s.mesh[Axis::kDp] = 2, s.mesh[Axis::kTp] = 2;
      s.sequence_parallel = true;
      s.zero_stage = stage;
      if (stage == 3) s.fsdp.copies = FsdpCopies::kFsdp2;
      for (const Model& model : {small_llama(), small_gpt()})
        expect_gradients_of_plain_products(model, narrow(DType::kFp8, weights), s, kPacked);
    }
  }
}

TEST(LoraNarrow, ALastLayerThatIsNotCastHasItsAdaptersToo) {
  for (const DType type : {DType::kFp8, DType::kNvfp4}) {
    Precision p = narrow(type);
    p.plain_first = 1;
    Strategy s;
    s.mesh[Axis::kTp] = 2;
    expect_gradients_of_plain_products(small_llama(), p, s, kPacked);
  }
}

// What blocks of nvfp4 lose is what verify_test.cpp allows for; without casts nothing would be
// lost.
TEST(LoraNarrow, FrozenProductsInNvfp4AreRoundedAndAdaptersLearnWithinWhatBlocksLose) {
  Model m = small_llama();
  m.layers = 2, m.hidden = 64, m.heads = m.kv_heads = 4, m.head_dim = 16, m.ffn_hidden = 64;
  m.max_positions = 64;
  Workload w = adapted(narrow(DType::kNvfp4), kPacked);
  w.sequence_length = 64;
  Workload exact = w;
  exact.precision.matmul = DType::kBf16;
  const RunPrecision precision = RunPrecision::kBf16;
  const Plan plan = make_plan(m, in_precision(w, precision), Strategy{});
  const Verification v =
      compare(run_steps(m, plan, precision),
              run_steps(m, make_plan(m, in_precision(exact, precision), Strategy{}), precision));
  EXPECT_LT(v.worst_error, tolerance_of(precision, m, plan, 1).error);
  EXPECT_GT(v.worst_error, 0.05);  // a rounded operand alone loses 0.1
}

}  // namespace plait::lora_narrow_test
