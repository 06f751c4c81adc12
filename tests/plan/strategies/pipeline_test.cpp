// Pipeline parallelism: who holds which layers, and what travels between stages.
#include <algorithm>
#include <set>

#include "tests/plan/tiny.h"

namespace plait::pipeline_test {

Strategy pipeline(std::int64_t stages, Schedule schedule, std::int64_t chunks = 1) {
  Strategy s = split({.pp = stages});
  s.pipeline.schedule = schedule, s.pipeline.chunks = chunks;
  return s;
}

Volume sends(const Plan& plan, std::size_t stage, int offset) {
  Volume t;
  for_each_op(plan, stage, [&](const Call&, const Op& op) {
    const Send* s = std::get_if<Send>(&op.body);
    if (s != nullptr && s->offset == offset) ++t.count, t.bytes += s->bytes.value;
  });
  return t;
}
Volume receives(const Plan& plan, std::size_t stage, int offset) {
  Volume t;
  for_each_op(plan, stage, [&](const Call&, const Op& op) {
    const Recv* r = std::get_if<Recv>(&op.body);
    if (r != nullptr && r->offset == offset) ++t.count, t.bytes += r->bytes.value;
  });
  return t;
}

/// Layers in the order in which the stage first runs them forward.
std::vector<std::int32_t> layers_of(const Plan& plan, std::size_t stage) {
  std::vector<std::int32_t> out;
  for (const Call& c : plan.programs[stage].calls) {
    if (plan.blocks[c.block].name == "layer.forward" && c.microbatch == 0) out.push_back(c.layer);
  }
  return out;
}

/// Layers that the stage runs forward.
std::set<std::int32_t> all_layers_of(const Plan& plan, std::size_t stage) {
  std::set<std::int32_t> out;
  for (const Call& c : plan.programs[stage].calls) {
    if (plan.blocks[c.block].name == "layer.forward") out.insert(c.layer);
  }
  return out;
}

constexpr std::int64_t kStream = 8 * 16 * 2;  // s b h of two bytes

TEST(Pipeline, EachMicrobatchCrossesEachBoundaryOnceInEachDirection) {
  const std::int64_t m = 4;
  for (Schedule schedule : {Schedule::kGpipe, Schedule::k1f1b}) {
    const Plan plan = make_plan(tiny_llama(3), tiny_workload(m), pipeline(3, schedule));
    const Volume crossing{m, m * kStream};
    for (std::size_t stage : {0U, 1U, 2U}) {
      const Volume down = stage < 2 ? crossing : Volume{}, up = stage > 0 ? crossing : Volume{};
      EXPECT_EQ(sends(plan, stage, 1), down);
      EXPECT_EQ(receives(plan, stage, 1), down);  // gradients from the next stage
      EXPECT_EQ(sends(plan, stage, -1), up);
      EXPECT_EQ(receives(plan, stage, -1), up);
    }
  }
}

TEST(Interleaved, MessagesMultiplyByTheNumberOfChunks) {
  // Narayanan et al. 2021, section 2.2: p v pieces have p v - 1 boundaries.
  const std::int64_t p = 2, v = 2, m = 4;
  const Plan plan =
      make_plan(tiny_llama(4), tiny_workload(m), pipeline(p, Schedule::kInterleaved, v));
  const std::int64_t forward = sends(plan, 0, 1).count + sends(plan, 1, 1).count;
  const std::int64_t backward = sends(plan, 0, -1).count + sends(plan, 1, -1).count;
  EXPECT_EQ(forward, m * (p * v - 1));
  EXPECT_EQ(backward, m * (p * v - 1));
}

TEST(Interleaved, StageHoldsEveryPthPiece) {
  const Plan plan =
      make_plan(tiny_llama(8), tiny_workload(2), pipeline(2, Schedule::kInterleaved, 2));
  EXPECT_EQ(layers_of(plan, 0), (std::vector<std::int32_t>{0, 1, 4, 5}));
  EXPECT_EQ(layers_of(plan, 1), (std::vector<std::int32_t>{2, 3, 6, 7}));
}

// Twice as many as without chunks, less the turn, where two pieces share a stage (Qi et al. 2023,
// section 6).
TEST(V, EachMicrobatchCrossesEachBoundaryTwiceAndTheTurnNever) {
  const std::int64_t p = 3, m = 4;
  for (const Schedule kind : {Schedule::kZbV, Schedule::kDualPipeV}) {
    const Plan plan = make_plan(tiny_llama(6), tiny_workload(m), pipeline(p, kind, 2));
    std::int64_t count = 0;
    for (std::size_t s = 0; s < 3; ++s) {
      for (const int way : {-1, 1}) {
        count += sends(plan, s, way).count;
        // Activations down and gradients of the way back go to the next stage.
        const bool there = way > 0 ? s < 2 : s > 0;
        EXPECT_EQ(sends(plan, s, way), (there ? Volume{2 * m, 2 * m * kStream} : Volume{}));
        EXPECT_EQ(receives(plan, s, way), sends(plan, s, way));
      }
    }
    EXPECT_EQ(count, 2 * m * (2 * p - 2));
  }
}

TEST(V, FirstStageHoldsBothEndsAndTheTiedMatrixOnce) {
  const Plan plan = make_plan(tiny_gpt(4), tiny_workload(3), pipeline(2, Schedule::kZbV, 2));
  EXPECT_EQ(layers_of(plan, 0), (std::vector<std::int32_t>{0, 3}));
  EXPECT_EQ(layers_of(plan, 1), (std::vector<std::int32_t>{1, 2}));
  for (const Tensor& t : plan.tensors) EXPECT_NE(t.name, "output.weight");
  EXPECT_EQ(traffic(plan, 0, CollectiveKind::kAllReduce, Axis::kPp), Volume{});
}

TEST(BothWays, MirroredStagesHoldTheSameLayersAndSumTheirGradients) {
  Strategy s = pipeline(4, Schedule::kDualPipe, 2);
  const Plan plan = make_plan(tiny_llama(8), tiny_workload(8), s);
  EXPECT_EQ(all_layers_of(plan, 0), (std::set<std::int32_t>{0, 1, 6, 7}));
  EXPECT_EQ(all_layers_of(plan, 3), all_layers_of(plan, 0));
  EXPECT_EQ(all_layers_of(plan, 1), (std::set<std::int32_t>{2, 3, 4, 5}));
  for (std::size_t stage = 0; stage < 4; ++stage) {
    std::int64_t gradients = 0, summed = 0;
    std::set<std::pair<TensorId, std::int32_t>> seen;
    for_each_op(plan, stage, [&](const Call& call, const Op& op) {
      const Collective* c = std::get_if<Collective>(&op.body);
      if (c != nullptr && c->stages == Stages::kMirrored) summed += c->bytes().value;
      for (const Operand& o : op.operands) {
        const Tensor& t = plan.tensors[o.tensor];
        if (t.kind != TensorClass::kGradient || t.is_view()) continue;
        const std::int32_t layer = t.scope == Scope::kLayer ? call.layer + o.shift : 0;
        if (seen.emplace(o.tensor, layer).second) gradients += t.bytes(plan.mesh).value;
      }
    });
    EXPECT_EQ(summed, gradients) << stage;
  }
}

// Half of the microbatches cross each boundary either way.
TEST(BothWays, EachMicrobatchCrossesEachBoundaryOnceInEachDirection) {
  const std::int64_t m = 6;
  const Plan plan = make_plan(tiny_llama(4), tiny_workload(m), pipeline(4, Schedule::kDualPipe, 2));
  for (std::size_t stage = 0; stage < 4; ++stage) {
    for (const int way : {-1, 1}) {
      const bool there = way > 0 ? stage < 3 : stage > 0;
      EXPECT_EQ(sends(plan, stage, way), (there ? Volume{m, m * kStream} : Volume{}));
      EXPECT_EQ(receives(plan, stage, way), sends(plan, stage, way));
    }
  }
}

TEST(Pipeline, PiecesHaveTheLayersOfTheList) {
  Strategy s = pipeline(2, Schedule::kInterleaved, 2);
  s.pipeline.stage_layers = {0, 3, 1, 2};
  const Plan plan = make_plan(tiny_llama(6), tiny_workload(4), s);
  EXPECT_EQ(layers_of(plan, 0), (std::vector<std::int32_t>{3}));
  EXPECT_EQ(layers_of(plan, 1), (std::vector<std::int32_t>{0, 1, 2, 4, 5}));
}

TEST(Pipeline, EndsTakeTheLayersThatTheyAreGiven) {
  Strategy s = pipeline(4, Schedule::k1f1b);
  s.pipeline.first_stage_layers = 1, s.pipeline.last_stage_layers = 0;
  const Plan plan = make_plan(tiny_llama(7), tiny_workload(4), s);
  const std::size_t expected[] = {1, (7 - 1 - 0) / 2, (7 - 1 - 0) / 2, 0};
  for (std::size_t stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(layers_of(plan, stage).size(), expected[stage]) << stage;
  }
}

// Modules E 0 .. 7 N H are 11: pieces of 3, 3, 3 and 2, of which the first has E and the last N and
// H.
TEST(Pipeline, EndsCanCountAsLayers) {
  Strategy s = pipeline(4, Schedule::k1f1b);
  s.pipeline.ends_are_layers = true;
  const Plan plan = make_plan(tiny_llama(8), tiny_workload(4), s);
  const std::size_t expected[] = {3 - 1, 3, 3, 2 - 2};
  for (std::size_t stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(layers_of(plan, stage).size(), expected[stage]) << stage;
  }
  s.pipeline.first_stage_layers = s.pipeline.last_stage_layers = 2;  // what is given wins
  EXPECT_EQ(layers_of(make_plan(tiny_llama(8), tiny_workload(4), s), 0).size(), 2U);
}

TEST(Pipeline, SequenceShardsMakeMessagesSmallerByTp) {
  Strategy s = split({.pp = 2, .tp = 2});
  s.sequence_parallel = true;
  const Plan plan = make_plan(tiny_llama(), tiny_workload(2), s);
  EXPECT_EQ(sends(plan, 0, 1), (Volume{2, 2 * kStream / 2}));
}

TEST(Pipeline, TiedMatrixGradientsAreSummedBetweenTheEndsOnly) {
  const Model m = tiny_gpt(3);
  const Plan plan = make_plan(m, tiny_workload(3), pipeline(3, Schedule::k1f1b));
  const Volume table{1, m.vocab * m.hidden * 4};
  EXPECT_EQ(traffic(plan, 0, CollectiveKind::kAllReduce, Axis::kPp), table);
  EXPECT_EQ(traffic(plan, 1, CollectiveKind::kAllReduce, Axis::kPp), Volume{});
  EXPECT_EQ(traffic(plan, 2, CollectiveKind::kAllReduce, Axis::kPp), table);
}

TEST(Pipeline, TiedMatrixOnOneStageIsStoredOnceAndNothingTravels) {
  const Plan plan = make_plan(tiny_gpt(), tiny_workload(1), split({}));
  for (const Tensor& t : plan.tensors) EXPECT_NE(t.name, "output.weight");
  for (const Block& b : plan.blocks) EXPECT_EQ(collectives(b), 0) << b.name;
}

TEST(GradientNorm, IsOneNumberSummedOverStagesShardsAndNothingThatReplicates) {
  Workload w = tiny_workload(4);
  w.gradient_clipping = true;
  const AxisSet pp_tp = AxisSet(Axis::kPp) | Axis::kTp;
  const Plan plain = make_plan(tiny_llama(), w, split({.pp = 2, .dp = 2, .tp = 2}));
  EXPECT_EQ(traffic(plain, 0, CollectiveKind::kAllReduce, pp_tp), (Volume{1, 4}));
  const Plan zero = make_plan(tiny_llama(), w, split({.pp = 2, .dp = 2, .tp = 2}, 1));
  EXPECT_EQ(traffic(zero, 0, CollectiveKind::kAllReduce, pp_tp | Axis::kDp), (Volume{1, 4}));
}

}  // namespace plait::pipeline_test
