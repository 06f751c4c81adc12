#include "costmodel/memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/costmodel/devices.h"
#include "topologies/catalogue.h"

namespace plait::memory_test {

Cluster cluster_of(const char* preset, std::int64_t nodes) {
  ClusterSpec spec;
  spec.preset = preset;
  spec.nodes = nodes;
  return make_cluster(spec);
}

Collective over(AxisSet axes) {
  Collective c = collective(CollectiveKind::kAllReduce, 1024);
  c.axes = axes;
  return c;
}

/// Two stages of tp 2 x dp 2; both all-reduce over tp (twice) and dp; the first also sends.
Plan small_plan() {
  Plan plan;
  plan.mesh[Axis::kPp] = 2;
  plan.mesh[Axis::kDp] = 2;
  plan.mesh[Axis::kTp] = 2;
  Block layer{
      "layer",
      {Op{.body = over(Axis::kTp), .operands = {}}, Op{.body = over(Axis::kTp), .operands = {}},
       Op{.body = over(Axis::kDp), .operands = {}}, Op{.body = over(Axis::kEp), .operands = {}}}};
  Block send{"send", {Op{.body = Send{.bytes = Bytes(1024)}, .operands = {}}}};
  plan.blocks = {layer, send};
  plan.programs.resize(2);
  plan.programs[0].calls = {Call{0}, Call{0}, Call{1}};
  plan.programs[1].calls = {Call{0}};
  return plan;
}

StageMemory live(std::int64_t bytes) {
  StageMemory out;
  out.peak = Bytes(bytes);
  return out;
}

Bytes item(const std::vector<MemoryItem>& items, const std::string& name) {
  for (const MemoryItem& i : items)
    if (i.name == name) return i.bytes;
  ADD_FAILURE() << "no item " << name;
  return {};
}

// 24 channels per communicator on an 8-GPU H100 box, 4 + 0.5 + 4.6875 MiB each; tp and dp are one
// communicator each, however often they are used, and an axis of one rank is none.
TEST(Memory, EveryCommunicatorHasItsBuffersOnce) {
  const Plan plan = small_plan();
  const auto items = StageOverheads(plan, cluster_of("hgx-h100", 1)).of(1, live(0));
  const auto per_channel = static_cast<std::int64_t>((4 + 0.5 + 4.6875) * kMiB);
  EXPECT_EQ(item(items, "communicator_buffers"), Bytes(2 * 24 * per_channel));
}

// Three connections receive in each channel: from the ring, from up and from down the tree; a group
// of two has one neighbour in its tree.
TEST(Memory, OldNcclConnectsTreesToo) {
  FrameworkMemory old;
  old.trees = true;
  Plan plan = small_plan();
  plan.programs[0].calls = {Call{0}};
  const auto all = [&](const FrameworkMemory& m) {
    return item(StageOverheads(plan, cluster_of("hgx-h100", 1), m).of(0, live(0)),
                "communicator_buffers");
  };
  EXPECT_EQ(all(old), Bytes(2 * all({}).value)) << "groups of two";
  plan.mesh[Axis::kPp] = 1, plan.mesh[Axis::kTp] = 4;
  plan.blocks[0].ops.resize(1);
  EXPECT_EQ(all(old), Bytes(3 * all({}).value));
}

// NVIDIA/nccl issue 1685: 3.28 GB among the 8 GPUs of an H100 box.
TEST(Memory, AllToAllsConnectEachPairOfANode) {
  Plan plan = small_plan();
  plan.mesh = {};
  plan.mesh[Axis::kEp] = 8;
  Collective exchange = collective(CollectiveKind::kAllToAll, 1024);
  exchange.axes = Axis::kEp;
  plan.blocks[0].ops = {Op{.body = exchange, .operands = {}}};
  plan.programs.resize(1);
  plan.programs[0].calls = {Call{0}};
  const auto buffers = [&](const Kernels& kernels, std::int64_t chosen = 2) {
    std::get<Collective>(plan.blocks[0].ops[0].body).tokens.chosen = chosen;
    const auto items = StageOverheads(plan, cluster_of("hgx-h100", 1), {}, kernels).of(0, live(0));
    return static_cast<double>(item(items, "communicator_buffers").value);
  };
  EXPECT_NEAR(buffers({}), 3.28e9, 0.02e9);
  Kernels deepep;
  deepep.exchange = Dispatcher::kDeepEp;
  EXPECT_LT(buffers(deepep), 0.5e9) << "as rings";
  EXPECT_NEAR(buffers(deepep, 0), 3.28e9, 0.02e9) << "of sequences: DeepEP moves no such";
}

TEST(Memory, EachThreadThatMultipliesHasAWorkspace) {
  const auto workspace = [](const char* preset, const FrameworkMemory& m) {
    const auto items = StageOverheads(small_plan(), cluster_of(preset, 1), m).of(0, live(0));
    return item(items, "workspace");
  };
  EXPECT_EQ(workspace("hgx-h100", {}), Bytes(2 * 32 * kMiB));
  EXPECT_EQ(workspace("dgx-a100", {}), Bytes(2 * (2 * 4096 + 8 * 16) * 1024));
  FrameworkMemory fixed;
  fixed.workspace = Bytes(32 * kMiB);  // CUBLAS_WORKSPACE_CONFIG=:4096:8
  fixed.library_workspaces = 1;
  EXPECT_EQ(workspace("dgx-a100", fixed), Bytes((2 * 32 + 4) * kMiB));
  EXPECT_EQ(workspace("hgx-h100", fixed), Bytes((2 * 32 + 32) * kMiB));
}

TEST(Memory, SendingAddsBuffers) {
  const Plan plan = small_plan();
  const Cluster cluster = cluster_of("hgx-h100", 1);
  const Bytes sender = item(StageOverheads(plan, cluster).of(0, live(0)), "communicator_buffers");
  const Bytes other = item(StageOverheads(plan, cluster).of(1, live(0)), "communicator_buffers");
  EXPECT_GT(sender, other);
}

TEST(Memory, TheAllocatorHoldsWholeSegments) {
  for (std::int64_t bytes : {std::int64_t{1}, 3 * kMiB, 10 * kGiB + 17}) {
    const auto items = StageOverheads(small_plan(), cluster_of("hgx-h100", 1)).of(0, live(bytes));
    const Bytes reserve = item(items, "allocator_reserve");
    EXPECT_EQ((reserve.value + bytes) % (2 * kMiB), 0);
    EXPECT_GE(reserve.value, 0);
    EXPECT_LE(reserve.value, bytes / 20 + 2 * kMiB);
  }
}

// A box of 80 GB: 10 GiB of tensors may waste 15 %, 74 GiB cannot; nor less than 4 %.
TEST(Memory, TheAllocatorGivesBackWhereMemoryIsShort) {
  FrameworkMemory wasteful;
  wasteful.fragmentation = 0.15;
  const Cluster cluster = cluster_of("dgx-a100", 1);
  const auto reserve = [&](std::int64_t gib) {
    const auto items = StageOverheads(small_plan(), cluster, wasteful).of(0, live(gib * kGiB));
    Bytes sum(gib * kGiB);
    for (const MemoryItem& i : items) sum += i.bytes;
    const double share = static_cast<double>(item(items, "allocator_reserve").value) /
                         static_cast<double>(gib * kGiB);
    return std::pair(share, sum);
  };
  EXPECT_NEAR(reserve(10).first, 0.15, 1e-3);
  EXPECT_EQ(reserve(74).second, cluster.device.memory);
  EXPECT_NEAR(reserve(100).first, 0.04, 1e-3);
}

TEST(Memory, EveryItemNamesItsSource) {
  for (const MemoryItem& i :
       StageOverheads(small_plan(), cluster_of("dgx-a100", 1)).of(0, live(kGiB)))
    EXPECT_FALSE(i.source.empty()) << i.name;
}

Plan plan_with(const Compute& op, int calls) {
  Plan plan = small_plan();
  plan.blocks[0].ops.assign(1, Op{.body = op, .operands = {}});
  plan.programs[0].calls.assign(static_cast<std::size_t>(calls), Call{0});
  return plan;
}

TEST(Memory, CopiesOfTheLogitsAreThoseOfOneMicrobatch) {
  const Plan plan = plan_with(CrossEntropy{CrossEntropy::Step::kGradient, 100, 5000}, 3);
  FrameworkMemory eager;
  eager.loss_bytes_per_logit = 6;
  const auto items = StageOverheads(plan, cluster_of("hgx-h100", 1), eager).of(0, live(kGiB));
  EXPECT_EQ(item(items, "loss_copies"), Bytes(100 * 5000 * 6));
}

TEST(Memory, TheHeadsProductsHaveNoCopiesOfTheLogits) {
  const std::int64_t rows = 100, vocab = 5000;
  Plan plan = plan_with(CrossEntropy{CrossEntropy::Step::kGradient, rows, vocab}, 1);
  Tensor logits;
  logits.dims = {Dim{rows}, Dim{vocab}}, logits.rank = 2;
  plan.tensors = {logits};
  std::vector<Op>& ops = plan.blocks[0].ops;
  ops[0].operands = {{0, Use::kUpdate}};
  ops.push_back(Op{.body = Compute(MatMul{}), .operands = {{0, Use::kRead}}});
  ops.push_back(Op{.body = Compute(Cast{}), .operands = {{0, Use::kRead}}});
  FrameworkMemory eager;
  eager.loss_bytes_per_logit = 6;
  const StageOverheads overheads(plan, cluster_of("hgx-h100", 1), eager);
  EXPECT_EQ(overheads.beside().of_op(ops[0]), Bytes(6 * rows * vocab));
  EXPECT_EQ(overheads.beside().of_op(ops[1]), Bytes());
  EXPECT_EQ(overheads.beside().of_op(ops[2]), Bytes(6 * rows * vocab));
}

TEST(Memory, WhatIsFreeBetweenCopiesOfTheLogitsIsHeldWhereThereIsRoom) {
  const std::int64_t rows = 100, vocab = 5000;
  const Plan plan = plan_with(CrossEntropy{CrossEntropy::Step::kGradient, rows, vocab}, 1);
  const Cluster cluster = cluster_of("hgx-h100", 1);
  const auto reserve = [&](std::int64_t gib, double gap) {
    FrameworkMemory framework;
    framework.fragmentation = 0, framework.loss_gap_bytes_per_logit = gap;
    return item(StageOverheads(plan, cluster, framework).of(0, live(gib * kGiB)),
                "allocator_reserve");
  };
  EXPECT_EQ(reserve(1, 2) - reserve(1, 0), Bytes(2 * rows * vocab));
  EXPECT_EQ(reserve(100, 2), reserve(100, 0));
}

TEST(Memory, TheLossOverSharesOfTheVocabularyHasCopiesOfItsOwn) {
  const std::int64_t rows = 100, shares = 2, vocab = 5000;
  Plan plan = plan_with(CrossEntropy{CrossEntropy::Step::kGradient, rows, vocab / shares}, 1);
  Tensor logits;
  logits.dims = {Dim{rows}, Dim{1}, Dim{vocab, Axis::kTp}}, logits.rank = 3;
  plan.tensors = {logits};
  plan.blocks[0].ops[0].operands = {{0, Use::kUpdate}};
  FrameworkMemory eager;
  eager.loss_bytes_per_logit = 6, eager.split_loss_bytes_per_logit = 10;
  const Cluster cluster = cluster_of("hgx-h100", 1);
  const auto copies = [&] {
    return item(StageOverheads(plan, cluster, eager).of(0, live(kGiB)), "loss_copies").value;
  };
  EXPECT_EQ(copies(), 10 * rows * vocab / shares);
  plan.tensors[0].dims[2].sharded = {};
  EXPECT_EQ(copies(), 6 * rows * vocab / shares) << "all of the vocabulary";
}

/// One stream's tensor of 3 MiB is gone when the other's, of 2 MiB, comes.
Plan plan_of_two_streams() {
  Plan plan = small_plan();
  for (const std::int64_t mib : {3, 2}) {
    Tensor t;
    t.dims = {Dim{mib << 20}}, t.rank = 1, t.dtype = DType::kInt8, t.scope = Scope::kCall;
    plan.tensors.push_back(t);
  }
  const Compute cast(Cast{});
  plan.blocks[0].ops = {Op{cast, Stream::kParamGather, Phase::kParamGather, {{0, Use::kWrite}}},
                        Op{cast, Stream::kCompute, Phase::kForward, {{1, Use::kWrite}}}};
  plan.programs[0].calls = {Call{0}};
  return plan;
}

TEST(Memory, AStreamKeepsWhatItHadForItself) {
  const Plan plan = plan_of_two_streams();
  const StageMemory live = live_memory(plan, 0);
  ASSERT_EQ(live.peak, Bytes(3 << 20));
  const auto items = StageOverheads(plan, cluster_of("hgx-h100", 1)).of(0, live);
  EXPECT_EQ(item(items, "stream_pools"), Bytes((3 + 2 - 3) << 20));
}

/// The second op has `beside` MiB that are no tensor.
StageMemory with_scratch(const Plan& plan, std::int64_t beside) {
  const Op* second = &plan.blocks[0].ops[1];
  const LiveMemory memory(plan, Role{},
                          {[&](const Op& op) { return Bytes(&op == second ? beside << 20 : 0); }});
  return memory.of(0);
}

TEST(Memory, WhatOpsHaveBesideTensorsCountsWhereThePeakIs) {
  const Plan plan = plan_of_two_streams();
  const StageMemory little = with_scratch(plan, 1), much = with_scratch(plan, 2);
  EXPECT_EQ(little.peak, Bytes(3 << 20)) << "of the first op";
  EXPECT_EQ(little.beside, Bytes());
  EXPECT_EQ(much.peak, Bytes(2 << 20));
  EXPECT_EQ(much.beside, Bytes(2 << 20));
  EXPECT_EQ(much.peak_at, 1U);
}

/// Of tensors that stay as long: the second one, of 2 MiB, has as much beside it.
TEST(Memory, WhatIsKeptBesideTensorsCountsWhereThePeakIs) {
  const Plan plan = plan_of_two_streams();
  const StageMemory kept = LiveMemory(plan, Role{}, {.of_tensor = {0, 1}}).of(0);
  EXPECT_EQ(kept.peak, Bytes(2 << 20));
  EXPECT_EQ(kept.peak_at, 1U);
  EXPECT_EQ(LiveMemory(plan, Role{}, {.of_tensor = {0, 0.4}}).of(0).peak, Bytes(3 << 20));
}

TEST(Memory, TheCurveHasWhatIsBesideTensorsWhereItIs) {
  const Plan plan = plan_of_two_streams();
  const Op* first = &plan.blocks[0].ops[0];
  const LiveMemory memory(
      plan, Role{}, {[&](const Op& op) { return Bytes(&op == first ? 7 << 20 : 0); }, {0, 0.5}});
  const StageMemory m = memory.of(0, true);
  ASSERT_EQ(m.curve.size(), 2U);
  EXPECT_EQ(m.curve[0].beside, Bytes(7 << 20)) << "of the op";
  EXPECT_EQ(m.curve[1].beside, Bytes(1 << 20)) << "of the second tensor, 2 MiB";
}

TEST(Memory, UnfusedAttentionHasScoresBesideItsProbabilities) {
  Attention op;
  op.batch = 2, op.heads = 3, op.seq_q = op.seq_kv = 64, op.head_dim = 16, op.fused = false;
  const std::int64_t square = std::int64_t{2} * 3 * 64 * 64 * 2;
  const auto scores = [&](Pass pass, SoftmaxKernel softmax) {
    op.pass = pass;
    Kernels kernels;
    kernels.softmax = softmax;
    const auto items =
        StageOverheads(plan_with(op, 1), cluster_of("hgx-h100", 1), {}, kernels).of(0, live(kGiB));
    return item(items, "attention_scores").value;
  };
  EXPECT_EQ(scores(Pass::kForward, SoftmaxKernel::kEager), square);
  EXPECT_EQ(scores(Pass::kBackward, SoftmaxKernel::kFused), square) << "softmax works in place";
  EXPECT_EQ(scores(Pass::kBackward, SoftmaxKernel::kEager), 2 * square);
}

TEST(Memory, WhereMemoryIsShortStreamsGiveBackWhatTheyDoNotUse) {
  const Plan plan = plan_of_two_streams();
  StageMemory live = live_memory(plan, 0);
  live.peak = Bytes(100 * kGiB);
  for (const MemoryItem& i : StageOverheads(plan, cluster_of("hgx-h100", 1)).of(0, live))
    EXPECT_NE(i.name, "stream_pools");
}

TEST(Memory, IntermediatesCountForEachMemberThatIsLive) {
  const Activation silu{Pass::kForward, ActivationKind::kSilu, true, 100, 64};
  Plan plan = plan_with(silu, 1);
  plan.tensors.resize(2);
  plan.blocks[0].ops[0].operands = {{0, Use::kRead}, {1, Use::kWrite}};
  const Bytes input(3 * 100 * 2 * 64 * 2);  // of three microbatches
  StageMemory at = live(kGiB);
  at.at_peak = {{0, 3, input}};
  Kernels eager;
  eager.activation = Fusion::kEager;
  const auto items = StageOverheads(plan, cluster_of("dgx-a100", 1), {}, eager).of(0, at);
  EXPECT_EQ(item(items, "eager_intermediates"), Bytes(input.value / 2)) << "the activated gate";
}

TEST(Memory, TemporariesOfTheStepCountOnlyAboveThePeak) {
  const std::int64_t parameters = 1'000'000;
  Plan plan = plan_with(Adam{parameters / 2}, 2);
  plan.tensors.resize(2);
  plan.tensors[0].kind = TensorClass::kOptimizer, plan.tensors[0].persistent = true;
  plan.tensors[1].kind = TensorClass::kWeight;
  FrameworkMemory four;
  four.step_bytes_per_parameter = 4;
  const auto step = [&](std::int64_t state, std::int64_t peak, std::int64_t gathered = 0) {
    StageMemory at = live(peak);
    at.at_peak = {{0, 1, Bytes(state)}, {1, 1, Bytes(gathered)}};
    for (const MemoryItem& i : StageOverheads(plan, cluster_of("hgx-h100", 1), four).of(0, at))
      if (i.name == "step_temporaries") return i.bytes.value;
    return std::int64_t{0};
  };
  EXPECT_EQ(step(16 * parameters, 16 * parameters), 4 * parameters) << "no activations";
  EXPECT_EQ(step(16 * parameters, 17 * parameters), 3 * parameters);
  EXPECT_EQ(step(16 * parameters, 17 * parameters, parameters), 3 * parameters)
      << "gathered weights are gone then";
  EXPECT_EQ(step(16 * parameters, 30 * parameters), 0) << "activations need more";
}

TEST(Memory, AnOptimizerOnTheHostHasNoTemporariesOnTheDevice) {
  Plan plan = plan_with(Adam{1'000'000}, 1);
  plan.blocks[0].ops[0].stream = Stream::kHost;
  FrameworkMemory four;
  four.step_bytes_per_parameter = 4;
  for (const MemoryItem& i : StageOverheads(plan, cluster_of("hgx-h100", 1), four).of(0, live(0)))
    EXPECT_NE(i.name, "step_temporaries");
}

TEST(Memory, AProcessorHasNoContext) {
  EXPECT_TRUE(StageOverheads(small_plan(), cluster_of("cpu-host", 8)).of(0, live(kGiB)).empty());
}

}  // namespace plait::memory_test
