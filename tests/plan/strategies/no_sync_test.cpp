// Gradients that add up whole before they are sharded (NoSync), as PyTorch's no_sync and its
// pipelines have it: what is reduced and gathered in a step, and when.
#include <algorithm>
#include <map>

#include "tests/plan/tiny.h"

namespace plait::no_sync_test {

constexpr std::int64_t kMicrobatches = 4;

Plan plan_of(NoSync no_sync, std::int64_t pp, int zero_stage = 3, bool reshard = true) {
  Strategy s = split({.pp = pp, .fsdp = 2}, zero_stage);
  s.fsdp.no_sync = no_sync, s.fsdp.reshard_after_forward = reshard;
  return make_plan(tiny_llama(4), tiny_workload(2 * kMicrobatches), s);
}

/// Elements of all collectives of the kind in a step of the first stage.
std::int64_t sent(const Plan& plan, CollectiveKind kind) {
  std::int64_t out = 0;
  for_each_op(plan, 0, [&](const Call&, const Op& op) {
    const Collective* c = std::get_if<Collective>(&op.body);
    if (c != nullptr && c->kind == kind) out += c->elements;
  });
  return out;
}
std::int64_t reduced(const Plan& plan) { return sent(plan, CollectiveKind::kReduceScatter); }
std::int64_t gathered(const Plan& plan) { return sent(plan, CollectiveKind::kAllGather); }

TEST(NoSync, GradientsAreReducedOnceAStepInsteadOfInEachMicrobatch) {
  for (const int stage : {2, 3}) {
    const std::int64_t each = reduced(plan_of(NoSync::kNever, 1, stage));
    EXPECT_EQ(kMicrobatches * reduced(plan_of(NoSync::kAlways, 1, stage)), each);
    EXPECT_EQ(reduced(plan_of(NoSync::kPipelines, 1, stage)), each);
    EXPECT_EQ(kMicrobatches * reduced(plan_of(NoSync::kPipelines, 2, stage)),
              reduced(plan_of(NoSync::kNever, 2, stage)));
  }
}

TEST(NoSync, WholeGradientsStayBesideTheShards) {
  const Plan once = plan_of(NoSync::kAlways, 1), each = plan_of(NoSync::kNever, 1);
  EXPECT_TRUE(tensor_named(once, "layer.gradients").persistent);
  EXPECT_EQ(tensor_named(once, "layer.gradients").dtype, DType::kFp32);
  EXPECT_TRUE(tensor_named(once, "layer.gradient_shard").persistent);
  EXPECT_FALSE(tensor_named(each, "layer.gradients").persistent);
}

/// The last backward pass of each chunk that the stage has.
std::map<std::int32_t, std::int32_t> last_passes(const Plan& plan, const Program& program) {
  std::map<std::int32_t, std::int32_t> out;
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    const Call& call = program.calls[i];
    if (plan.blocks[call.block].name.ends_with(".backward")) {
      out[call.chunk] = static_cast<std::int32_t>(i);
    }
  }
  return out;
}

TEST(NoSync, InAPipelineReductionsComeBehindTheLastPassOfTheirPiece) {
  for (const std::int64_t chunks : {1, 2}) {
    Strategy s = split({.pp = 2, .fsdp = 2}, 3);
    s.fsdp.no_sync = NoSync::kPipelines, s.pipeline.chunks = chunks;
    if (chunks > 1) s.pipeline.schedule = Schedule::kInterleaved;
    const Plan plan = make_plan(tiny_llama(4), tiny_workload(2 * kMicrobatches), s);
    const Program& program = plan.programs[0];
    std::map<std::int32_t, std::int32_t> last = last_passes(plan, program);
    ASSERT_EQ(std::ssize(last), chunks);
    std::int64_t seen = 0;
    for (const Call& call : program.calls) {
      if (plan.blocks[call.block].name != "grad_scatter") continue;
      ++seen;
      EXPECT_GE(call.after, last[call.chunk]);
      if (call.chunk > 0) {
        EXPECT_LT(call.after, last[0]) << "beside the passes of the first piece";
      }
    }
    EXPECT_EQ(seen, 2 + 1) << "two layers and the embedding";
  }
}

TEST(NoSync, InAPipelineThePiecesLastMessageIsOnItsWayBefore) {
  for (const NoSync no_sync : {NoSync::kPipelines, NoSync::kPipelines2024}) {
    const Plan plan = plan_of(no_sync, 2);
    const Program& program = plan.programs[1];  // which has a stage in front
    const auto is = [&](const char* name) {
      return [&plan, name](const Call& c) { return plan.blocks[c.block].name == name; };
    };
    const std::vector<Call>& calls = program.calls;
    const auto scatter = std::find_if(calls.begin(), calls.end(), is("grad_scatter"));
    const auto message = std::find_if(calls.rbegin(), calls.rend(), is("send_backward"));
    ASSERT_NE(scatter, calls.end());
    ASSERT_NE(message, calls.rend());
    EXPECT_EQ(scatter >= message.base(), no_sync == NoSync::kPipelines);
  }
}

TEST(NoSync, InAPipelineABackwardPassLeavesItsWeightsWhole) {
  const std::int64_t anew = gathered(plan_of(NoSync::kNever, 2));
  const std::int64_t left = gathered(plan_of(NoSync::kPipelines, 2));
  const std::int64_t kept = gathered(plan_of(NoSync::kPipelines, 2, 3, false));
  EXPECT_LT(left, anew);
  EXPECT_LT(kept, left);
  // Each of the stage's weights once.
  const Plan plan = plan_of(NoSync::kPipelines, 2);
  const std::int64_t layer = tensor_named(plan, "layer.weights").elements(plan.mesh);
  EXPECT_EQ(kept, tensor_named(plan, "embedding.weights").elements(plan.mesh) + 2 * layer);
  // Without a pipeline a backward pass frees what it has read.
  EXPECT_EQ(gathered(plan_of(NoSync::kAlways, 1)), gathered(plan_of(NoSync::kNever, 1)));
}

// FSDP1 leaves what autograd adds up, FSDP2 casts it to what travels; Megatron-FSDP has a buffer.
TEST(NoSync, WholeGradientsHaveTheTypeThatTheProgramAddsThemUpIn) {
  Workload w = tiny_workload(2 * kMicrobatches);
  w.precision = {.weights = DType::kBf16, .gradients = DType::kFp32, .reduction = DType::kFp16};
  for (const auto& [copies, type] :
       {std::pair(FsdpCopies::kFsdp1, DType::kBf16), std::pair(FsdpCopies::kFsdp2, DType::kFp16),
        std::pair(FsdpCopies::kNone, DType::kFp32)}) {
    Strategy s = split({.fsdp = 2}, 3);
    s.fsdp.no_sync = NoSync::kAlways, s.fsdp.copies = copies;
    const Plan plan = make_plan(tiny_llama(4), w, s);
    EXPECT_EQ(tensor_named(plan, "layer.gradients").dtype, type);
    EXPECT_EQ(tensor_named(plan, "layer.gradient_shard").dtype, DType::kFp32);
    for_each_op(plan, 0, [&](const Call&, const Op& op) {
      const MatMul* product = body_of<MatMul>(op);
      if (product != nullptr && product->pass == Pass::kWeightGrad) {
        EXPECT_EQ(product->out, type);
      }
    });
  }
}

// A microbatch of PyTorch's no_sync ends before gradients are copied (_runtime_utils.py,
// _post_backward_hook; _fsdp_param_group.py, post_backward): what has added up leaves once.
TEST(NoSync, GradientsLeaveTheDeviceOnceTheyHaveAddedUp) {
  const auto left = [](NoSync no_sync) {
    Strategy s = split({.fsdp = 2}, 3);
    s.fsdp.no_sync = no_sync;
    s.offload.optimizer = s.offload.parameters = Offload::kCpu;
    const Plan plan = make_plan(tiny_llama(4), tiny_workload(2 * kMicrobatches), s);
    std::int64_t shards = 0;
    for_each_op(plan, 0, [&](const Call&, const Op& op) {
      const auto* copied = std::get_if<Copy>(&op.body);
      const bool out = copied != nullptr && op.stream == Stream::kDeviceToHost;
      if (out && op.phase == Phase::kGradSync) ++shards;
    });
    return shards;
  };
  EXPECT_EQ(kMicrobatches * left(NoSync::kAlways), left(NoSync::kNever));
}

}  // namespace plait::no_sync_test
