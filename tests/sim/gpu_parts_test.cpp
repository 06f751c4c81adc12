// Ranks on parts of one GPU: kernels and messages share the bandwidth of its memory.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/error.h"
#include "sim/simulate.h"
#include "tests/sim/draw.h"
#include "tests/sim/hand_made.h"

namespace plait::gpu_parts_test {

Cluster in_parts(std::int64_t parts) {
  return make_cluster({.preset = "gpu-parts", .devices_per_node = parts});
}

/// What copies reach of an H200's memory, which all parts share: 4.8 TB/s (data sheet), 0.90 of it
/// (BabelStream, costmodel/efficiency.cpp).
constexpr double kSharedBandwidth = 4.8e12 * 0.90;

/// Gigabytes through memory, and next to no arithmetic.
Compute streaming() { return Activation{.rows = 1 << 16, .width = 1 << 14}; }
/// Arithmetic, and next to no memory.
Compute computing() { return MatMul{.m = 8192, .n = 8192, .k = 8192}; }

/// A kernel for each stage, each of `data` ranks.
Plan kernels_of(const std::vector<Compute>& by_stage, std::int64_t data = 1) {
  Plan plan = empty_plan(std::ssize(by_stage), 1, 1);
  plan.mesh[Axis::kDp] = data;
  plan.tensors = {tensor("x", Scope::kMicrobatch)};
  for (std::size_t s = 0; s < by_stage.size(); ++s) {
    plan.blocks.push_back({"stage", {kernel(by_stage[s], {{0, Use::kWrite, 0}})}});
    plan.programs[s].calls = {{.block = static_cast<BlockId>(s)}};
  }
  return plan;
}

Simulation on_parts(const Plan& plan) {
  const Cluster cluster = in_parts(plan.mesh.world_size());
  SimulationOptions options;
  options.network = make_network(cluster);
  return simulate(plan, cluster, {}, options);
}
double step_of(const Plan& plan) { return to_seconds(on_parts(plan).timeline.step_time).value; }

struct Alone {
  double launch, whole, bytes;
};
Alone alone(const Compute& op, std::int64_t parts) {
  const CostModel costs;
  const Device part = in_parts(parts).device;
  const Cost cost = costs.compute(op, part);
  return {cost.share[kLaunchOverhead].value, cost.total().value,
          static_cast<double>(costs.memory_bytes(op, part).value)};
}

TEST(GpuParts, KernelsThatStreamGetTheMemoryTogether) {
  for (const std::int64_t parts : {2, 4, 8}) {
    const Alone a = alone(streaming(), parts);
    const double together = a.launch + static_cast<double>(parts) * a.bytes / kSharedBandwidth;
    EXPECT_GT(together, a.whole * 1.01) << "the memory is not short";
    EXPECT_NEAR(step_of(kernels_of({streaming()}, parts)) / together, 1, 1e-6) << parts;
  }
}

TEST(GpuParts, KernelsThatComputeDoNotHinderEachOther) {
  const Alone a = alone(computing(), 4);
  EXPECT_NEAR(step_of(kernels_of({computing()}, 4)) / a.whole, 1, 1e-9);
}

TEST(GpuParts, OneStreamsWhileTheOtherComputes) {
  const Alone streams = alone(streaming(), 2), computes = alone(computing(), 2);
  const double rates = streams.bytes / (streams.whole - streams.launch) +
                       computes.bytes / (computes.whole - computes.launch);
  ASSERT_LT(rates, kSharedBandwidth);
  EXPECT_NEAR(step_of(kernels_of({streaming(), computing()})),
              std::max(streams.whole, computes.whole), 1e-11);
}

TEST(GpuParts, TheReportNamesTheMemory) {
  const Simulation run = on_parts(kernels_of({streaming()}, 4));
  ASSERT_FALSE(run.contention.empty());
  const Contention& c = run.contention.front();
  EXPECT_EQ(c.link, "node 0: memory");
  EXPECT_EQ(c.link_class, LinkClass::kDeviceMemory);
  EXPECT_EQ(c.traffic, "kernels");
  EXPECT_NEAR(c.lost.value, to_seconds(run.timeline.step_time).value - alone(streaming(), 4).whole,
              1e-9);
}

TEST(GpuParts, MessagesTakeFromKernels) {
  const Plan silent = kernels_of({streaming()}, 2);
  Plan plan = silent;
  plan.tensors.push_back(tensor("g", Scope::kMicrobatch));
  const std::int64_t elements = 1 << 25;  // 64 MiB, long before the kernels end
  Collective sum{
      .kind = CollectiveKind::kAllReduce, .axes = AxisSet{Axis::kDp}, .elements = elements};
  plan.blocks[0].ops.push_back({sum, Stream::kGradSync, Phase::kBackward, {{1, Use::kUpdate, 0}}});
  // Of two ranks each receives the buffer once, which is read and written; all that time kernels
  // have so much less.
  const double bytes = 2 * 2.0 * static_cast<double>(sum.bytes().value);
  EXPECT_NEAR(step_of(plan) - step_of(silent), bytes / kSharedBandwidth,
              0.02 * bytes / kSharedBandwidth);
}

TEST(GpuParts, OnlyTheFlowNetworkKnowsThem) {
  const Plan plan = kernels_of({streaming()}, 2);
  try {
    simulate(plan, in_parts(2), {});
    FAIL() << "the analytic network took parts of a GPU";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "S055");
  }
}

RC_GTEST_PROP(GpuParts, FoldedEqualsUnfolded, ()) {
  const auto size = [] { return std::int64_t{1} << pick(0, 1); };
  const Case c = small_case(size(), size(), size(), size());
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  Cluster cluster = in_parts(plan.mesh.world_size());
  cluster.device.l2_cache = Bytes(0);  // which would hold all of the small model
  SimulationOptions options;
  options.network = make_network(cluster);
  const SimTime folded = simulate(plan, cluster, {}, options).timeline.step_time;
  options.unfold = true;
  RC_ASSERT(simulate(plan, cluster, {}, options).timeline.step_time == folded);
}

}  // namespace plait::gpu_parts_test
