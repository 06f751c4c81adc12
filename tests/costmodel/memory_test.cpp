#include "costmodel/memory.h"

#include <gtest/gtest.h>

#include "tests/costmodel/devices.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

Cluster machine(const char* preset, std::int64_t nodes) {
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
  const auto items = memory_overheads(plan, 1, Bytes(0), machine("hgx-h100", 1));
  const auto per_channel = static_cast<std::int64_t>((4 + 0.5 + 4.6875) * kMiB);
  EXPECT_EQ(item(items, "communicator_buffers"), Bytes(2 * 24 * per_channel));
}

TEST(Memory, SendingAddsBuffers) {
  const Plan plan = small_plan();
  const Cluster cluster = machine("hgx-h100", 1);
  const Bytes sender = item(memory_overheads(plan, 0, {}, cluster), "communicator_buffers");
  const Bytes other = item(memory_overheads(plan, 1, {}, cluster), "communicator_buffers");
  EXPECT_GT(sender, other);
}

TEST(Memory, TheAllocatorHoldsWholeSegments) {
  for (std::int64_t live : {std::int64_t{1}, 3 * kMiB, 10 * kGiB + 17}) {
    const auto items = memory_overheads(small_plan(), 0, Bytes(live), machine("hgx-h100", 1));
    const Bytes reserve = item(items, "allocator_reserve");
    EXPECT_EQ((reserve.value + live) % (2 * kMiB), 0);
    EXPECT_GE(reserve.value, 0);
    EXPECT_LE(reserve.value, live / 20 + 2 * kMiB);
  }
}

TEST(Memory, EveryItemNamesItsSource) {
  for (const MemoryItem& i : memory_overheads(small_plan(), 0, Bytes(kGiB), machine("dgx-a100", 1)))
    EXPECT_FALSE(i.source.empty()) << i.name;
}

TEST(Memory, AProcessorHasNoContext) {
  EXPECT_TRUE(memory_overheads(small_plan(), 0, Bytes(kGiB), machine("cpu-host", 8)).empty());
}

}  // namespace
}  // namespace plait
