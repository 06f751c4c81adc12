// Every planted fault is rejected with its kind, in a plan that was executable before.
#include "plan/validate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/plan/tiny.h"

namespace plait::validate_test {

Plan two_stages(std::int64_t microbatches = 2) {
  Workload w = tiny_workload(microbatches);
  w.gradient_clipping = true;
  return make_plan(tiny_llama(), w, split({.pp = 2}));
}

bool calls(const Plan& plan, const Call& call, std::string_view block) {
  return plan.blocks[call.block].name == block;
}
std::size_t find_call(const Plan& plan, std::size_t stage, std::string_view block) {
  const std::vector<Call>& all = plan.programs[stage].calls;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Call& c) { return calls(plan, c, block); });
  EXPECT_NE(found, all.end()) << block;
  return static_cast<std::size_t>(found - all.begin());
}

/// The call gets a copy of its block of its own, which may be changed.
Block& own_block(Plan& plan, std::size_t stage, std::size_t call) {
  Call& c = plan.programs[stage].calls[call];
  plan.blocks.push_back(plan.blocks[c.block]);
  c.block = static_cast<BlockId>(plan.blocks.size() - 1);
  return plan.blocks.back();
}
/// The call stays, its ops go: indices of other calls keep their meaning.
void silence(Plan& plan, std::size_t stage, std::string_view block) {
  own_block(plan, stage, find_call(plan, stage, block)).ops.clear();
}

void expect_fault(const Plan& plan, FaultKind kind, std::size_t stage) {
  const std::vector<PlanFault> faults = validate(plan);
  EXPECT_TRUE(std::any_of(faults.begin(), faults.end(),
                          [&](const PlanFault& f) {
                            return f.kind == kind && f.stage == static_cast<std::int64_t>(stage) &&
                                   !f.text.empty();
                          }))
      << code_of(kind) << " on stage " << stage << " is missing; first found: "
      << (faults.empty() ? "none" : code_of(faults[0].kind) + " " + faults[0].text);
}
/// The fault and nothing else.
void expect_only(const Plan& plan, FaultKind kind) {
  const std::vector<PlanFault> faults = validate(plan);
  ASSERT_FALSE(faults.empty());
  for (const PlanFault& f : faults) {
    EXPECT_EQ(code_of(f.kind), code_of(kind)) << f.text;
    EXPECT_LT(f.stage, static_cast<std::int64_t>(plan.programs.size())) << f.text;
  }
}

TEST(Validate, PlansBeforeTheFaultsAreExecutable) { EXPECT_TRUE(validate(two_stages()).empty()); }

TEST(Validate, CodesFollowTheOrderOfKinds) {
  EXPECT_EQ(code_of(FaultKind::kReference), "P001");
  EXPECT_EQ(code_of(FaultKind::kDeadlock), "P008");
  EXPECT_EQ(code_of(FaultKind::kSize), "P009");
  EXPECT_EQ(code_of(FaultKind::kType), "P010");
}

TEST(Reference, OperandThatNamesNoTensor) {
  Plan plan = two_stages();
  plan.blocks[0].ops[0].operands[0].tensor = static_cast<TensorId>(plan.tensors.size());
  expect_only(plan, FaultKind::kReference);
}

TEST(Reference, CallOfNoBlock) {
  Plan plan = two_stages();
  plan.programs[1].calls[0].block = static_cast<BlockId>(plan.blocks.size());
  expect_only(plan, FaultKind::kReference);
}

TEST(Reference, LayerAndMicrobatchOutOfRange) {
  Plan layer = two_stages(), microbatch = two_stages();
  layer.programs[0].calls[0].layer = static_cast<std::int32_t>(layer.layers + 1);
  expect_only(layer, FaultKind::kReference);
  microbatch.programs[0].calls[0].microbatch = static_cast<std::int32_t>(microbatch.microbatches);
  expect_only(microbatch, FaultKind::kReference);
}

TEST(Reference, CallThatWaitsForItself) {
  Plan plan = two_stages();
  plan.programs[0].calls[3].after = 3;
  expect_only(plan, FaultKind::kReference);
}

TEST(Reference, ShiftThatLeavesTheLayers) {
  Plan plan = two_stages();
  Block& forward = own_block(plan, 0, find_call(plan, 0, "layer.forward"));
  forward.ops.back().operands.back().shift = static_cast<std::int16_t>(plan.layers + 1);
  expect_only(plan, FaultKind::kReference);
  forward.ops.back().operands.back().shift = -1;
  expect_only(plan, FaultKind::kReference);
}

TEST(Member, StageThatMissesACollectiveAcrossStages) {
  Plan plan = two_stages();
  Block& norm = own_block(plan, 1, find_call(plan, 1, "gradient_norm"));
  ASSERT_TRUE(std::holds_alternative<Collective>(norm.ops.back().body));
  norm.ops.pop_back();
  expect_only(plan, FaultKind::kMember);
}

TEST(Member, StageThatJoinsWithAnotherKind) {
  Plan plan = two_stages();
  Block& norm = own_block(plan, 1, find_call(plan, 1, "gradient_norm"));
  std::get<Collective>(norm.ops.back().body).kind = CollectiveKind::kBroadcast;
  expect_only(plan, FaultKind::kMember);
}

TEST(Member, StageInTheMiddleThatJoinsTheEnds) {
  Workload w = tiny_workload(3);
  Plan plan = make_plan(tiny_gpt(3), w, split({.pp = 3}));
  ASSERT_TRUE(validate(plan).empty());
  const Call tied = plan.programs[0].calls[find_call(plan, 0, "tied_gradients")];
  plan.programs[1].calls.push_back(tied);
  expect_fault(plan, FaultKind::kMember, 1);
}

TEST(Bytes, StagesThatGiveDifferentSizesForOneCollective) {
  Plan plan = two_stages();
  Block& norm = own_block(plan, 1, find_call(plan, 1, "gradient_norm"));
  std::get<Collective>(norm.ops.back().body).dtype = DType::kBf16;
  expect_fault(plan, FaultKind::kBytes, 1);
  std::vector<PlanFault> others = validate(plan);
  std::erase_if(others, [](const PlanFault& f) { return f.kind == FaultKind::kBytes; });
  ASSERT_EQ(others.size(), 1U);  // it is no longer of its tensor's type either
  EXPECT_EQ(others[0].kind, FaultKind::kType) << others[0].text;
}

TEST(Bytes, EndsOfAMessageThatDisagree) {
  Plan plan = two_stages();
  Block& send = own_block(plan, 0, find_call(plan, 0, "send_forward"));
  std::get<Send>(send.ops[0].body).bytes += Bytes(1);
  expect_only(plan, FaultKind::kBytes);
}

TEST(Message, SendWithoutItsReceive) {
  Plan plan = two_stages();
  silence(plan, 1, "recv_forward");
  expect_fault(plan, FaultKind::kMessage, 0);
}

TEST(Message, ReceiveWithoutItsSend) {
  Plan plan = two_stages();
  silence(plan, 0, "send_forward");
  expect_fault(plan, FaultKind::kMessage, 1);
}

TEST(Message, SendToAnotherStageThanTheOneThatReceives) {
  Workload w = tiny_workload(3);
  Plan plan = make_plan(tiny_llama(3), w, split({.pp = 3}));
  ASSERT_TRUE(validate(plan).empty());
  Block& send = own_block(plan, 0, find_call(plan, 0, "send_forward"));
  std::get<Send>(send.ops[0].body).offset = 2;
  expect_fault(plan, FaultKind::kMessage, 0);
}

TEST(Deadlock, StagesThatWaitForOneAnother) {
  // Stage 0 asks for the gradient of microbatch 0 before it sends its activation.
  Plan plan = two_stages();
  std::vector<Call>& c = plan.programs[0].calls;
  const std::size_t receive = find_call(plan, 0, "recv_backward");
  const std::size_t send = find_call(plan, 0, "send_forward");
  ASSERT_LT(send, receive);
  std::rotate(c.begin() + static_cast<std::ptrdiff_t>(send),
              c.begin() + static_cast<std::ptrdiff_t>(receive),
              c.begin() + static_cast<std::ptrdiff_t>(receive) + 1);
  expect_only(plan, FaultKind::kDeadlock);
  expect_fault(plan, FaultKind::kDeadlock, 0);
  expect_fault(plan, FaultKind::kDeadlock, 1);
}

TEST(UnorderedRead, LayerWhoseShardedWeightsAreNotGathered) {
  Plan plan = make_plan(tiny_llama(), tiny_workload(2), split({.fsdp = 2}, 3));
  ASSERT_TRUE(validate(plan).empty());
  silence(plan, 0, "param_gather");  // the first: the embedding's
  expect_only(plan, FaultKind::kUnorderedRead);
}

TEST(UnorderedRead, BackwardWithoutItsForward) {
  Plan plan = make_plan(tiny_llama(), tiny_workload(1), split({}));
  silence(plan, 0, "layer.forward");
  expect_fault(plan, FaultKind::kUnorderedRead, 0);
}

TEST(UnorderedRead, TemporaryThatAnotherCallWrote) {
  // The backward block in two calls: the second half reads what only the first may.
  Plan plan = make_plan(tiny_llama(), tiny_workload(1), split({}));
  const std::size_t at = find_call(plan, 0, "layer.backward");
  Block& first = own_block(plan, 0, at);
  Block second = first;
  const auto half = static_cast<std::ptrdiff_t>(first.ops.size() / 2);
  first.ops.erase(first.ops.begin() + half, first.ops.end());
  second.ops.erase(second.ops.begin(), second.ops.begin() + half);
  plan.blocks.push_back(std::move(second));
  std::vector<Call>& all = plan.programs[0].calls;
  Call rest = all[at];
  rest.block = static_cast<BlockId>(plan.blocks.size() - 1);
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(at) + 1, rest);
  expect_only(plan, FaultKind::kUnorderedRead);
}

TEST(Leak, GradientsThatNobodyReduces) {
  Plan plan = make_plan(tiny_llama(), tiny_workload(2), split({.dp = 2}, 2));
  ASSERT_TRUE(validate(plan).empty());
  silence(plan, 0, "grad_scatter");
  expect_only(plan, FaultKind::kLeak);
}

TEST(Leak, ActivationsWhoseBackwardNeverRuns) {
  Plan plan = make_plan(tiny_llama(), tiny_workload(1), split({}));
  silence(plan, 0, "layer.backward");
  expect_fault(plan, FaultKind::kLeak, 0);
}

TEST(Group, CollectiveOverAnAxisOfOneRank) {
  Plan plan = two_stages();
  Block& forward = own_block(plan, 0, find_call(plan, 0, "layer.forward"));
  forward.ops.push_back(
      {Collective{.axes = Axis::kTp, .elements = 1}, Stream::kTp, Phase::kForward, {}});
  expect_only(plan, FaultKind::kGroup);
}

TEST(Group, MessageAlongAnAxisOfOneRank) {
  Plan plan = two_stages();
  for (Block& block : plan.blocks) {
    for (Op& op : block.ops) {
      if (Send* s = std::get_if<Send>(&op.body)) s->axis = Axis::kDp;
    }
  }
  expect_fault(plan, FaultKind::kGroup, 0);
}

// ---- sizes

/// The first op of the blocks of this kind.
template <class Kind>
Op& first_of(Plan& plan) {
  for (Block& block : plan.blocks) {
    for (Op& op : block.ops) {
      if (const auto* c = std::get_if<Compute>(&op.body); c && std::holds_alternative<Kind>(*c))
        return op;
    }
  }
  throw InternalError("no such op");
}

TEST(Size, ProductThatMakesMoreThanItsResultHolds) {
  Plan plan = two_stages();
  std::get<MatMul>(std::get<Compute>(first_of<MatMul>(plan).body)).n *= 2;
  expect_only(plan, FaultKind::kSize);
}

TEST(Size, TensorThatIsSmallerThanItsReadersAndWriters) {
  const Plan whole = two_stages();
  std::size_t activations = 0;
  for (std::size_t t = 0; t < whole.tensors.size(); ++t) {
    if (whole.tensors[t].name != "attention_input" && whole.tensors[t].name != "mlp_input")
      continue;
    Plan plan = whole;
    plan.tensors[t].dims[0].global /= 2;
    expect_only(plan, FaultKind::kSize);
    ++activations;
  }
  EXPECT_EQ(activations, 2U);
}

TEST(Size, CollectiveThatMovesMoreThanItsTensors) {
  Plan plan = two_stages();
  for (Op& op : own_block(plan, 0, find_call(plan, 0, "gradient_norm")).ops) {
    if (Collective* c = std::get_if<Collective>(&op.body)) c->first = 1;
  }
  expect_fault(plan, FaultKind::kSize, 0);
}

TEST(Size, OpWithoutOneOfItsOperands) {
  Plan plan = two_stages();
  first_of<Embedding>(plan).operands.resize(1);
  expect_fault(plan, FaultKind::kSize, 0);
}

TEST(Type, TensorOfAnotherTypeThanTheCollective) {
  Plan plan = two_stages();
  for (Tensor& t : plan.tensors) {
    if (t.name == "gradient_norm") t.dtype = DType::kBf16;
  }
  expect_only(plan, FaultKind::kType);
}

}  // namespace plait::validate_test
