// torch.autocast: parameters in fp32, products in bf16, a cast in front of what wants another type.
#include "core/error.h"
#include "plan/memory.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::autocast_test {

Workload cast_workload(std::int64_t batch = 2) {
  Workload w = tiny_workload(batch);
  Precision& p = w.precision;
  p.weights = p.matmul = p.gradients = p.reduction = p.master = p.moments = DType::kFp32;
  p.autocast = DType::kBf16;
  return w;
}
Workload fp32_workload() {
  Workload w = cast_workload();
  w.precision.autocast = std::nullopt;
  return w;
}

template <class Body, class F>
void for_each(const Plan& plan, F&& f) {
  for_each_op(plan, 0, [&](const Call& call, const Op& op) {
    const auto* c = std::get_if<Compute>(&op.body);
    if (const auto* body = c == nullptr ? nullptr : std::get_if<Body>(c)) f(call, op, *body);
  });
}

/// Elements that autocast casts from stored weights, over the step.
std::int64_t cast_from_weights(const Plan& plan) {
  std::int64_t n = 0;
  for_each<Cast>(plan, [&](const Call&, const Op& op, const Cast& c) {
    if (c.autocast && plan.tensors[op.operands[0].tensor].kind == TensorClass::kWeight)
      n += c.elements;
  });
  return n;
}

/// Of linear layers and the output matrix.
std::int64_t multiplied_parameters(const Model& m) {
  const std::int64_t layer = m.hidden * (m.qkv_width() + m.context_width()) +
                             m.ffn_hidden * m.hidden * (m.gated_mlp ? 3 : 2);
  return m.layers * layer + m.vocab * m.hidden;
}

TEST(Autocast, StateAndResidualStreamAreInFp32AndProductsInBf16) {
  const Plan plan = make_plan(tiny_llama(), cast_workload(), split({}));
  for (const char* name : {"layer.weights", "layer.gradients", "layer.moment1", "x", "dx", "x_mid",
                           "attention_input", "logits", "embedding.weights"})
    EXPECT_EQ(tensor_named(plan, name).dtype, DType::kFp32) << name;
  for (const char* name : {"qkv", "context", "mlp_up", "mlp_activation", "layer.qkv.weight.bf16",
                           "layer.qkv.weight.input", "logits_narrow"})
    EXPECT_EQ(tensor_named(plan, name).dtype, DType::kBf16) << name;
  for (const Tensor& t : plan.tensors) EXPECT_NE(t.name, "layer.master");
  for_each<MatMul>(plan, [](const Call&, const Op&, const MatMul& g) {
    EXPECT_EQ(g.in, DType::kBf16);
    EXPECT_EQ(g.out, DType::kBf16);
  });
  for_each<Norm>(plan,
                 [](const Call&, const Op&, const Norm& n) { EXPECT_EQ(n.dtype, DType::kFp32); });
  EXPECT_TRUE(validate(plan).empty());
}

// Each op reads and writes tensors of the type that it says.
TEST(Autocast, OperandsHaveTheTypesOfTheirOps) {
  for (const Model& m : {tiny_llama(), tiny_gpt(), tiny_bert(), tiny_gemma()}) {
    const Plan plan = make_plan(m, cast_workload(), split({.tp = 2}));
    const auto type = [&](const Op& op, std::size_t i) {
      return plan.tensors[op.operands[i].tensor].dtype;
    };
    for_each<MatMul>(plan, [&](const Call&, const Op& op, const MatMul& g) {
      for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(type(op, i), g.in) << m.name << i;
    });
    for_each<Norm>(plan, [&](const Call&, const Op& op, const Norm& n) {
      for (const std::size_t i : {std::size_t{0}, op.operands.size() - 2})
        EXPECT_EQ(type(op, i), n.dtype) << m.name << i;
    });
    for_each<Cast>(plan, [&](const Call&, const Op& op, const Cast& c) {
      EXPECT_EQ(type(op, 0), c.from) << m.name;
      EXPECT_EQ(type(op, 1), c.to) << m.name;
    });
    for_each<Add>(plan, [&](const Call&, const Op& op, const Add& a) {
      if (a.pass != Pass::kForward || op.operands.size() < 3) return;
      EXPECT_EQ(type(op, 0), a.dtype) << m.name;
      EXPECT_EQ(type(op, 1), a.addend.value_or(a.dtype)) << m.name;
      EXPECT_EQ(type(op, 2), a.dtype) << m.name;
    });
  }
}

TEST(Autocast, CastsEachMultipliedWeightOncePerMicrobatch) {
  const Model m = tiny_llama();
  EXPECT_EQ(cast_from_weights(make_plan(m, cast_workload(2), split({}))),
            2 * multiplied_parameters(m));
  EXPECT_EQ(cast_from_weights(make_plan(m, fp32_workload(), split({}))), 0);
}

// The cache is empty when a checkpoint computes a layer again; the head is not recomputed.
TEST(Autocast, CastsAgainWhereLayersAreComputedAgain) {
  const Model m = tiny_llama();
  Strategy s = split({});
  s.recompute.kind = Recompute::kFull;
  const std::int64_t head = m.vocab * m.hidden;
  EXPECT_EQ(cast_from_weights(make_plan(m, cast_workload(2), s)),
            2 * (2 * multiplied_parameters(m) - head));
}

// Until the context ends behind the loss, which is when all layers' casts are there, though their
// backward passes cast again.
TEST(Autocast, HoldsTheCastsOfTheForwardPassUntilTheLoss) {
  const Model m = tiny_llama(4);
  Strategy s = split({});
  s.recompute.kind = Recompute::kFull;
  const Plan plan = make_plan(m, cast_workload(1), s);
  std::int64_t last_loss = -1, at = 0;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const auto* c = std::get_if<Compute>(&op.body);
    const auto* loss = c == nullptr ? nullptr : std::get_if<CrossEntropy>(c);
    if (loss != nullptr && loss->step == CrossEntropy::Step::kLoss) last_loss = at;
    ++at;
  });
  int held = 0;
  for (const Stay& stay : stays(plan, 0)) {
    const Tensor& t = plan.tensors[stay.tensor];
    if (t.name != "layer.mlp_down.weight.bf16.recomputed" || stay.first > last_loss) continue;
    EXPECT_EQ(stay.last, last_loss);
    ++held;
  }
  EXPECT_EQ(held, 4);
}

// A product writes a gradient in bf16, which is cast and added to the sum in fp32.
TEST(Autocast, GradientsAreMadeInBf16AndSummedInFp32) {
  const Model m = tiny_llama();
  const Plan plan = make_plan(m, cast_workload(2), split({}));
  std::int64_t summed = 0;
  for_each<Cast>(plan, [&](const Call&, const Op& op, const Cast& c) {
    if (!c.accumulate) return;
    EXPECT_EQ(op.operands[1].use, Use::kUpdate);
    EXPECT_EQ(plan.tensors[op.operands[1].tensor].kind, TensorClass::kGradient);
    EXPECT_EQ(memory_traffic(Compute(c)).value, c.elements * (2 + 2 * 4));
    summed += c.elements;
  });
  EXPECT_EQ(summed, 2 * multiplied_parameters(m));
}

TEST(Autocast, RanksReduceGradientsInFp32AndBranchesInBf16) {
  const Plan plan = make_plan(tiny_llama(), cast_workload(4), split({.dp = 2, .tp = 2}));
  int over_dp = 0, forward_over_tp = 0;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const auto* c = std::get_if<Collective>(&op.body);
    if (c == nullptr) return;
    if (c->axes.has(Axis::kDp)) {
      EXPECT_EQ(c->dtype, DType::kFp32);
      ++over_dp;
    }
    if (op.phase != Phase::kForward || c->elements != 8 * tiny_llama().hidden) return;
    if (plan.tensors[op.operands[0].tensor].name == "x") return;  // of the embedding
    EXPECT_EQ(c->dtype, DType::kBf16);
    ++forward_over_tp;
  });
  EXPECT_GT(over_dp, 0);
  EXPECT_EQ(forward_over_tp, 2 * 2 * 2);  // branches, layers, microbatches
}

// What no product multiplies reads its weights as they are stored.
TEST(Autocast, FrozenMatricesAreCastBesideAdapters) {
  Workload w = cast_workload(2);
  w.lora.rank = 2;
  const Model m = tiny_llama();
  const Plan plan = make_plan(m, w, split({}));
  EXPECT_EQ(cast_from_weights(plan),
            2 * (multiplied_parameters(m) + count_adapter_parameters(m, w.lora)));
  EXPECT_TRUE(validate(plan).empty());
}

TEST(Autocast, IsRefusedBesideWhatCastsByItself) {
  const auto code = [](const Workload& w, const Strategy& s) -> std::string {
    try {
      make_plan(tiny_llama(), w, s);
    } catch (const InputError& e) {
      return e.text().code + " " + e.text().where.path;
    }
    return "";
  };
  EXPECT_EQ(code(cast_workload(), split({})), "");
  EXPECT_EQ(code(cast_workload(), split({.fsdp = 2}, 3)), "S196 strategy.zero_stage");
  Workload w = cast_workload();
  w.precision.weights = DType::kBf16;
  EXPECT_EQ(code(w, split({})), "S196 workload.precision.weights");
  w = cast_workload(), w.precision.narrow_logits = true;
  EXPECT_EQ(code(w, split({})), "S196 workload.precision.narrow_logits");
  w = cast_workload(), w.loss_pieces = 2;
  EXPECT_EQ(code(w, split({})), "S196 workload.loss_pieces");
}

}  // namespace plait::autocast_test
