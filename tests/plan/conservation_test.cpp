// What no strategy may change: the FLOPs of the model and its parameters.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <tuple>

#include "model/iteration_flops.h"
#include "plan/schedule.h"
#include "plan/validate.h"
#include "tests/plan/tiny.h"

namespace plait::conservation_test {

struct Case {
  Model model;
  Workload workload;
  Strategy strategy;
  Plan plan() const { return make_plan(model, workload, strategy); }
};

void choose_pipeline(Strategy& s) {
  ScheduleKind kind = *rc::gen::elementOf(kSchedules);
  if (s.mesh[Axis::kPp] < kind.fewest_stages) kind = kind_of(Schedule::k1f1b);
  s.pipeline.schedule = kind.schedule, s.pipeline.chunks = kind.fewest_chunks;
  s.pipeline.scatter_gather = *rc::gen::arbitrary<bool>();
}

void choose_sharding(Strategy& s) {
  const bool fsdp = s.mesh[Axis::kFsdp] > 1, replicas = s.mesh.size_of(s.shard_axes()) > 1;
  s.zero_stage = replicas ? *rc::gen::inRange(fsdp ? 1 : 0, 4) : 0;
  s.keep_weight_shard = s.zero_stage == 3 && *rc::gen::arbitrary<bool>();
  s.fsdp.reshard_after_forward = *rc::gen::arbitrary<bool>();
  s.fsdp.reshard_last_layer = *rc::gen::arbitrary<bool>();
  s.fsdp.root = *rc::gen::arbitrary<bool>();
  s.fsdp.prefetch = *rc::gen::inRange<std::int64_t>(0, 3);
  s.fsdp.copies = *rc::gen::element(FsdpCopies::kNone, FsdpCopies::kFsdp1, FsdpCopies::kFsdp2,
                                    FsdpCopies::kDeepSpeed);
  s.fsdp.no_sync = *rc::gen::element(NoSync::kNever, NoSync::kPipelines, NoSync::kPipelines2024,
                                     NoSync::kAlways);
  s.data.overlap = *rc::gen::arbitrary<bool>();
  s.data.bucket = Bytes(*rc::gen::element<std::int64_t>(1, 4000, 1 << 20));
}

void choose_precision(const Strategy& s, Precision& p) {
  using rc::gen::element;
  p.matmul = *element(DType::kBf16, DType::kFp8, DType::kNvfp4);
  const bool copied = s.zero_stage == 3 && s.keep_weight_shard;  // S138
  if (p.matmul == DType::kFp8 && !copied) {
    p.narrow_weights =
        *element(NarrowWeights::kNone, NarrowWeights::kKept, NarrowWeights::kGathered);
  }
  if (!p.keeps_narrow()) p.plain_last = *element<std::int64_t>(0, 1);
}

/// A hybrid of small sizes that divide: 8 layers, 4 or 8 microbatches.
Case any_hybrid() {
  using rc::gen::element;
  Case c;
  const auto degree = [] { return *element<std::int64_t>(1, 2); };
  c.strategy = split({*element<std::int64_t>(1, 2, 4), degree(), degree(), degree(), degree()});
  Strategy& s = c.strategy;
  s.sequence_parallel = s.mesh[Axis::kTp] > 1 && *rc::gen::arbitrary<bool>();
  choose_pipeline(s);
  choose_sharding(s);
  s.recompute.kind =
      *element(Recompute::kNone, Recompute::kSelective, Recompute::kOps, Recompute::kFull);
  if (s.recompute.kind == Recompute::kFull) s.recompute.layers = *element<std::int64_t>(-1, 0, 1);
  if (s.recompute.kind == Recompute::kFull && s.recompute.layers < 0) {
    s.recompute.every = *element<std::int64_t>(1, 2);
  }
  // Without sequence shards the projection of a module, or of a masked-LM head, runs on every rank
  // along tp.
  const bool token_by_token = s.mesh[Axis::kTp] == 1 || s.sequence_parallel;
  c.model = *element(tiny_gpt(8), tiny_llama(8), tiny_gemma(8),
                     token_by_token ? tiny_bert(8) : tiny_gpt(8));
  const bool may_tie = ends_meet(s) || s.zero_stage < 2;  // S025
  c.model.tied_embeddings = may_tie && *rc::gen::arbitrary<bool>();
  const bool may_predict = c.model.positions != PositionKind::kLearned && token_by_token &&
                           c.model.norm_position == NormPosition::kPre;
  if (may_predict) c.model.mtp_layers = *element<std::int64_t>(0, 0, 1, 2);
  const std::int64_t micro = *element<std::int64_t>(1, 2);
  const std::int64_t replicas = s.mesh[Axis::kDp] * s.mesh[Axis::kFsdp];
  c.workload = tiny_workload(*element<std::int64_t>(4, 8) * micro * replicas, micro);
  c.workload.flash_attention = *rc::gen::arbitrary<bool>();
  c.workload.gradient_clipping = *rc::gen::arbitrary<bool>();
  choose_precision(s, c.workload.precision);
  return c;
}

bool first_time(const Op& op) { return op.phase != Phase::kRecompute; }

/// Elements of all weights, each (stage, layer) once; a shard counts for all ranks that hold one.
std::int64_t stored_parameters(const Plan& plan) {
  std::set<std::tuple<std::size_t, TensorId, std::int32_t>> seen;
  std::int64_t n = 0;
  for (std::size_t stage = 0; stage < plan.programs.size(); ++stage) {
    for_each_op(plan, stage, [&](const Call& call, const Op& op) {
      for (const Operand& o : op.operands) {
        const Tensor& t = plan.tensors[o.tensor];
        if (t.kind != TensorClass::kWeight || !t.is_view()) continue;
        const std::int32_t layer = t.scope == Scope::kLayer ? call.layer + o.shift : 0;
        if (!seen.emplace(stage, o.tensor, layer).second) continue;
        AxisSet shards;
        for (const Dim& d : t.dims) shards = shards | d.sharded;
        n += t.elements(plan.mesh) * plan.mesh.size_of(shards);
      }
    });
  }
  return n;
}

RC_GTEST_PROP(Conservation, RanksTogetherDoTheFlopsThatTheModelNeeds, ()) {
  const Case c = any_hybrid();
  const Flops needed =
      needed_flops_per_iteration(c.model, c.workload.sequence_length, c.workload.global_batch);
  RC_ASSERT(flops_of(c.plan(), first_time).value == needed.value);
}

RC_GTEST_PROP(Conservation, StagesAndShardsTogetherStoreEveryParameterOnce, ()) {
  const Case c = any_hybrid();
  std::int64_t expected = count_parameters(c.model).total(c.model);
  // A tied matrix, or the embedding of modules that predict further tokens, has a copy on the last
  // stage, where that is not the first.
  const bool copied = (c.model.tied_embeddings || c.model.mtp_layers > 0) && !ends_meet(c.strategy);
  if (copied) expected += c.model.vocab * c.model.hidden;
  if (both_ways(c.strategy)) expected *= 2;
  RC_ASSERT(stored_parameters(c.plan()) == expected);
}

RC_GTEST_PROP(Conservation, EveryHybridIsExecutable, ()) {
  const std::vector<PlanFault> faults = validate(any_hybrid().plan());
  if (!faults.empty()) RC_LOG() << code_of(faults[0].kind) << " " << faults[0].text << "\n";
  RC_ASSERT(faults.empty());
}

TEST(Conservation, FlatBufferHoldsReplicatedWeightsOnEveryTpRank) {
  const Model m = tiny_llama();
  const Plan plan = make_plan(m, tiny_workload(1), split({.tp = 2}));
  const std::int64_t norms = 2 * m.hidden;  // gamma of both, not sharded
  EXPECT_EQ(2 * tensor_named(plan, "layer.weights").elements(plan.mesh),
            count_parameters(m).layer + (2 - 1) * norms);
}

TEST(ModelFlops, AreMegatronsForTheWholeBatch) {
  const Plan plan = make_plan(tiny_gpt(), tiny_workload(4), split({.dp = 2}));
  // Narayanan et al. 2021: 72 B s l h^2 (1 + s / 6 h + V / 12 l h).
  const double B = 4, s = 8, l = 2, h = 16, V = 32;
  EXPECT_NEAR(plan.model_flops.value, 72 * B * s * l * h * h * (1 + s / (6 * h) + V / (12 * l * h)),
              1e-6);
}

}  // namespace plait::conservation_test
