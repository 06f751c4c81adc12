#include "costmodel/memory.h"

#include <gtest/gtest.h>

#include "tests/costmodel/devices.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

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
  const auto items = memory_overheads(plan, 1, live(0), cluster_of("hgx-h100", 1));
  const auto per_channel = static_cast<std::int64_t>((4 + 0.5 + 4.6875) * kMiB);
  EXPECT_EQ(item(items, "communicator_buffers"), Bytes(2 * 24 * per_channel));
}

TEST(Memory, SendingAddsBuffers) {
  const Plan plan = small_plan();
  const Cluster cluster = cluster_of("hgx-h100", 1);
  const Bytes sender = item(memory_overheads(plan, 0, live(0), cluster), "communicator_buffers");
  const Bytes other = item(memory_overheads(plan, 1, live(0), cluster), "communicator_buffers");
  EXPECT_GT(sender, other);
}

TEST(Memory, TheAllocatorHoldsWholeSegments) {
  for (std::int64_t bytes : {std::int64_t{1}, 3 * kMiB, 10 * kGiB + 17}) {
    const auto items = memory_overheads(small_plan(), 0, live(bytes), cluster_of("hgx-h100", 1));
    const Bytes reserve = item(items, "allocator_reserve");
    EXPECT_EQ((reserve.value + bytes) % (2 * kMiB), 0);
    EXPECT_GE(reserve.value, 0);
    EXPECT_LE(reserve.value, bytes / 20 + 2 * kMiB);
  }
}

TEST(Memory, EveryItemNamesItsSource) {
  for (const MemoryItem& i :
       memory_overheads(small_plan(), 0, live(kGiB), cluster_of("dgx-a100", 1)))
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
  const auto items = memory_overheads(plan, 0, live(kGiB), cluster_of("hgx-h100", 1), 0, eager);
  EXPECT_EQ(item(items, "loss_copies"), Bytes(100 * 5000 * 6));
}

TEST(Memory, EagerChainsKeepIntermediatesOfWhatIsLive) {
  Plan plan = plan_with(Norm{Pass::kForward, NormKind::kRmsNorm, 100, 64}, 1);
  plan.tensors.resize(1);
  plan.tensors[0].dtype = DType::kBf16;
  plan.blocks[0].ops[0].operands = {{0, Use::kWrite}};
  StageMemory at = live(kGiB);
  at.at_peak = {{0, 3, Bytes(3 * 100 * 64 * 2)}};  // three microbatches' outputs
  Kernels eager;
  eager.norm = Fusion::kEager;
  const auto items = memory_overheads(plan, 0, at, cluster_of("dgx-a100", 1), 0, {}, eager);
  EXPECT_EQ(item(items, "eager_intermediates"), Bytes(3 * 100 * 64 * (4 + 4))) << "two in fp32";
}

TEST(Memory, TemporariesOfTheStepCountOnlyAboveThePeak) {
  const std::int64_t parameters = 1'000'000;
  const Plan plan = plan_with(Adam{parameters / 2}, 2);
  FrameworkMemory four;
  four.step_bytes_per_parameter = 4;
  const auto step = [&](std::int64_t state, std::int64_t peak) {
    StageMemory at = live(peak);
    at.by_class[static_cast<std::size_t>(TensorClass::kOptimizer)] = Bytes(state);
    for (const MemoryItem& i : memory_overheads(plan, 0, at, cluster_of("hgx-h100", 1), 0, four))
      if (i.name == "step_temporaries") return i.bytes.value;
    return std::int64_t{0};
  };
  EXPECT_EQ(step(16 * parameters, 16 * parameters), 4 * parameters) << "no activations";
  EXPECT_EQ(step(16 * parameters, 17 * parameters), 3 * parameters);
  EXPECT_EQ(step(16 * parameters, 30 * parameters), 0) << "activations need more";
}

TEST(Memory, AProcessorHasNoContext) {
  EXPECT_TRUE(memory_overheads(small_plan(), 0, live(kGiB), cluster_of("cpu-host", 8)).empty());
}

}  // namespace
}  // namespace plait
