// Low-rank adapters: what is trained, computed, kept, held and sent beside frozen weights.
#include "plan/lora.h"

#include "model/presets.h"
#include "plan/memory.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::lora_test {

using T = AdapterTarget;

Workload adapted(std::int64_t batch, std::int64_t rank = 2, std::vector<T> targets = {}) {
  Workload w = tiny_workload(batch);
  w.lora.rank = rank;
  if (!targets.empty()) w.lora.targets = std::move(targets);
  return w;
}

std::int64_t elements_of(const Plan& plan, TensorClass kind, bool views) {
  std::int64_t n = 0;
  for (const Tensor& t : plan.tensors) {
    if (t.kind == kind && t.is_view() == views)
      n += t.elements(plan.mesh) * (t.scope == Scope::kRole ? 1 : plan.layers);
  }
  return n;
}

// What PEFT prints as trainable params: of Llama 2 7B 4,194,304 with r = 8 on q_proj and v_proj,
// its default targets, and 39,976,960 with r = 16 on all seven matrices of a layer; of Llama 3.1 8B
// with these 41,943,040, and 0.5196 % of all.
TEST(Lora, TrainsAsManyParametersAsPeftSays) {
  const Model llama2 = *find_preset("llama-2-7b"), llama3 = *find_preset("llama-3.1-8b");
  const std::vector<T> all = {T::kQ, T::kK, T::kV, T::kOut, T::kGateHalf, T::kUpHalf, T::kDown};
  EXPECT_EQ(count_adapter_parameters(llama2, {8, 0, {T::kQ, T::kV}}), 4'194'304);
  EXPECT_EQ(count_adapter_parameters(llama2, {16, 0, all}), 39'976'960);
  const std::int64_t adapters = count_adapter_parameters(llama3, {16, 0, all});
  EXPECT_EQ(adapters, 41'943'040);
  const std::int64_t whole = adapters + count_parameters(llama3).total(llama3);
  EXPECT_NEAR(100 * static_cast<double>(adapters) / static_cast<double>(whole), 0.5196, 5e-5);
}

// Factors of a packed product share A: of qkv r (h + 3 h), of the gated MLP's first r (h + 2 f).
TEST(Lora, DefaultTargetsAreTheFourProductsOfALayer) {
  const Model m = *find_preset("llama-2-7b");
  const std::int64_t h = m.hidden, f = m.ffn_hidden;
  EXPECT_EQ(count_adapter_parameters(m, {32, 0, LowRankAdapters().targets}),
            m.layers * 32 * ((h + 3 * h) + (h + h) + (h + 2 * f) + (f + h)));
}

// BLOOM's norm behind the embedding: what it would keep for a backward pass is not kept.
TEST(Lora, AFrozenEmbeddingsNormKeepsNothing) {
  Model with_norm = tiny_gpt();
  with_norm.embedding_norm = true;
  for (const Recompute kind : {Recompute::kNone, Recompute::kFull}) {
    Strategy strategy = split({.pp = 2});
    strategy.recompute.kind = kind;
    const Plan plan = make_plan(with_norm, adapted(2), strategy);
    EXPECT_TRUE(validate(plan).empty());
    const Plan without = make_plan(tiny_gpt(), adapted(2), strategy);
    const auto weights = [](const Plan& p) {
      return tensor_named(p, "embedding.weights").bytes(p.mesh).value;
    };
    EXPECT_EQ(live_memory(plan, 0).peak.value - weights(plan),
              live_memory(without, 0).peak.value - weights(without));
  }
}

TEST(Lora, GradientsAndOptimizerStateAreThoseOfAdaptersAlone) {
  for (const Model& m : {tiny_llama(), tiny_gpt()}) {
    const Workload w = adapted(1);
    const Plan plan = make_plan(m, w, {});
    EXPECT_TRUE(validate(plan).empty());
    const std::int64_t adapters = count_adapter_parameters(m, w.lora);
    EXPECT_EQ(elements_of(plan, TensorClass::kGradient, true), adapters);
    EXPECT_EQ(elements_of(plan, TensorClass::kGradient, false), adapters);
    EXPECT_EQ(elements_of(plan, TensorClass::kOptimizer, false), 3 * adapters)
        << "master and two moments";
    EXPECT_EQ(elements_of(plan, TensorClass::kWeight, false),
              count_parameters(m).total(m) + adapters);
  }
}

/// FLOPs of a pass over products.
Flops of_pass(const Plan& plan, Pass pass) {
  return flops_of(plan, [pass](const Op& op) {
    const Compute* c = std::get_if<Compute>(&op.body);
    const MatMul* g = c == nullptr ? nullptr : std::get_if<MatMul>(c);
    return g != nullptr && g->pass == pass;
  });
}

// Weight gradients are products of two FLOPs for each trained parameter and token; forward ones for
// each parameter; input gradients too, but for what leads to the first layer's input alone: W^T dy
// and A^T dz of qkv.
TEST(Lora, FrozenProductsHaveNoWeightGradientsAndTheFirstLayersInputNoGradient) {
  const Model m = tiny_llama();
  const Workload w = adapted(1);
  const Plan plan = make_plan(m, w, {}), all = make_plan(m, tiny_workload(1), {});
  const double tokens = 8;
  const auto factors = static_cast<double>(count_adapter_parameters(m, w.lora));
  const auto first = static_cast<double>(m.hidden * (m.qkv_width() + w.lora.rank));
  EXPECT_EQ(of_pass(plan, Pass::kWeightGrad).value, 2 * factors * tokens);
  EXPECT_EQ(of_pass(plan, Pass::kForward).value,
            of_pass(all, Pass::kForward).value + 2 * factors * tokens);
  EXPECT_EQ(of_pass(plan, Pass::kInputGrad).value,
            of_pass(all, Pass::kInputGrad).value + 2 * (factors - first) * tokens);
}

TEST(Lora, CountsTwoThirdsOfFrozenProductsAndThePlanComputesThem) {
  const Model m = tiny_llama();
  const Workload w = adapted(1);
  const Plan plan = make_plan(m, w, {}), all = make_plan(m, tiny_workload(1), {});
  const double linear = of_pass(all, Pass::kForward).value;
  const auto factors = static_cast<double>(count_adapter_parameters(m, w.lora));
  EXPECT_EQ(plan.model_flops.value, all.model_flops.value - linear + 6 * factors * 8);
}

TEST(Lora, TheFirstLayersInputHasAGradientWhereACheckpointBeginsThere) {
  const auto writes_dx0 = [](const Plan& plan, const char* name) {
    EXPECT_TRUE(validate(plan).empty());
    for (const Op& op : block_named(plan, name).ops) {
      for (const Operand& o : op.operands) {
        const bool dx = plan.tensors[o.tensor].name.starts_with("dx");
        if (dx && o.use != Use::kRead && o.shift == 0 && plan.tensors[o.tensor].name != "dx_mid")
          return true;
      }
    }
    return false;
  };
  const Workload w = adapted(1);
  EXPECT_FALSE(writes_dx0(make_plan(tiny_llama(), w, {}), "layer.first.backward"));
  EXPECT_TRUE(writes_dx0(make_plan(tiny_llama(), w, {}), "layer.backward"));
  Strategy s;
  s.recompute.kind = Recompute::kFull;
  EXPECT_TRUE(writes_dx0(make_plan(tiny_llama(), w, s), "layer.first.backward.recompute"));
}

// Without an adapter a product's input is read by nobody after the product: the MLP keeps what its
// activation reads, and no more.
TEST(Lora, KeepsTheInputsOfTargetsAndNotThoseOfFrozenProducts) {
  const auto peak = [](std::vector<T> targets) {
    Workload w = adapted(4, 2, std::move(targets));
    w.micro_batch = 4;
    return live_memory(make_plan(tiny_llama(4), w, {}), 0).peak.value;
  };
  const std::int64_t tokens = 8 * 4, bf16 = 2, ffn = 24, factors = 2 * (16 + 24) * (2 + 4 + 12) * 4;
  EXPECT_GE(peak({T::kQ, T::kDown}) - peak({T::kQ}) - factors, 3 * tokens * ffn * bf16)
      << "of three of four layers at least";
}

// The factor that meets what tp splits is split with it; of the other every rank has all, and sums
// its gradient over tp. No collective more than without adapters but that sum and the one of the
// norms, which are frozen.
TEST(Lora, TensorParallelismSumsGradientsOfWholeFactorsAndSendsNothingElse) {
  const Model m = tiny_llama();
  Strategy s = split({.tp = 2});
  const auto plain = [&](const Workload& w) { return make_plan(m, w, s); };
  for (const bool sequence : {false, true}) {
    s.sequence_parallel = sequence;
    const Plan plan = plain(adapted(1)), all = plain(tiny_workload(1));
    EXPECT_TRUE(validate(plan).empty());
    for (const char* name : {"layer.forward", "layer.backward"}) {
      for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                        CollectiveKind::kReduceScatter}) {
        EXPECT_EQ(traffic(block_named(plan, name), kind, Axis::kTp),
                  traffic(block_named(all, name), kind, Axis::kTp))
            << name << " " << name_of(kind);
      }
    }
    EXPECT_EQ(tensor_named(plan, "layer.qkv.lora_a.weight").elements(plan.mesh), 2 * 16);
    EXPECT_EQ(tensor_named(plan, "layer.qkv.lora_b.weight").elements(plan.mesh), 32 * 2 / 2);
    EXPECT_EQ(tensor_named(plan, "layer.mlp_down.lora_a.weight").elements(plan.mesh), 2 * 24 / 2);
    EXPECT_EQ(tensor_named(plan, "layer.mlp_down.lora_b.weight").elements(plan.mesh), 16 * 2);
    const std::int64_t whole = 2 * (16 + 16 + 16 + 16) * 2, fp32 = 4;  // A, A, B, B; 2 layers
    EXPECT_EQ(traffic(block_named(plan, "norm_gradients"), CollectiveKind::kAllReduce, Axis::kTp),
              (Volume{1, whole * fp32}));
  }
}

// FSDP gathers frozen weights, forward and backward, and reduces nothing of them.
TEST(Lora, ShardedWeightsAreGatheredAndOnlyAdaptersGradientsReduced) {
  const Model m = tiny_llama();
  const Workload w = adapted(2);
  const Plan plan = make_plan(m, w, split({.fsdp = 2}, 3));
  const std::int64_t adapters = count_adapter_parameters(m, w.lora), fp32 = 4;
  EXPECT_EQ(traffic(plan, 0, CollectiveKind::kReduceScatter, Axis::kFsdp),
            (Volume{m.layers, adapters * fp32}));
  std::int64_t shards = 0;
  for (const Tensor& t : plan.tensors) {
    if (t.name == "layer.weight_shard") shards = t.elements(plan.mesh);
  }
  EXPECT_EQ(shards, count_parameters(m).layer / 2);
}

TEST(Lora, ReplicasSumAdaptersGradientsAlone) {
  const Model m = tiny_llama();
  const Workload w = adapted(2);
  const Plan plan = make_plan(m, w, split({.dp = 2}));
  EXPECT_EQ(traffic(plan, 0, CollectiveKind::kAllReduce, Axis::kDp).bytes,
            count_adapter_parameters(m, w.lora) * 4);
}

// Of each adapter what is left of its input, 2 bytes, and the mask, 1 byte, are kept, and the input
// is not unless another reads it.
TEST(Lora, DropoutKeepsWhatIsLeftOfTheInputsAndMasks) {
  const auto peak = [](double dropout) {
    Workload w = adapted(4, 2, {T::kQ, T::kV, T::kDown});
    w.micro_batch = 4, w.lora.dropout = dropout;
    const Plan plan = make_plan(tiny_llama(4), w, {});
    EXPECT_TRUE(validate(plan).empty());
    return live_memory(plan, 0).peak.value;
  };
  const std::int64_t tokens = 8 * 4, h = 16, ffn = 24;
  const std::int64_t of_layer = tokens * ((2 + 1) * 2 * h - 2 * h + (2 + 1) * ffn - 2 * ffn);
  EXPECT_GE(peak(0.1) - peak(0), 3 * of_layer) << "of three of four layers at least";
  EXPECT_LE(peak(0.1) - peak(0), 4 * of_layer + 2 * tokens * ffn * 2) << "and what is in work";
}

TEST(Lora, WhatIsNotPlannedIsRefusedByName) {
  const Model llama = tiny_llama();
  EXPECT_EQ(refusal_of(llama, adapted(1, 2, {T::kQkv, T::kQ})), "S160");
  EXPECT_EQ(refusal_of(llama, adapted(1, 2, {T::kDown, T::kDown})), "S160");
  EXPECT_EQ(refusal_of(tiny_gpt(), adapted(1, 2, {T::kUpHalf})), "S160");
  Workload none = adapted(1);
  none.lora.targets.clear();
  EXPECT_EQ(refusal_of(llama, none), "S160");
  Workload nothing = adapted(1);
  nothing.lora.dropout = 1;
  EXPECT_EQ(refusal_of(llama, nothing), "S160");
  EXPECT_EQ(refusal_of(tiny_bert(), adapted(1)), "S161");
  Workload halves = adapted(1);
  halves.precision.split_master = true;
  EXPECT_EQ(refusal_of(llama, halves), "S162");
  Strategy s;
  s.recompute.kind = Recompute::kOps;
  EXPECT_EQ(refusal_of(llama, adapted(1), s), "S163");
  s = split({.pp = 3});
  s.pipeline.first_stage_layers = 0;
  EXPECT_EQ(refusal_of(llama, adapted(1), s), "S163") << "a stage of the embedding alone";
}

}  // namespace plait::lora_test
