// What plans with state off the device pay: Adam on processors, drives, host memory of a node.
#include <gtest/gtest.h>

#include "costmodel/costmodel.h"
#include "costmodel/node_use.h"
#include "topologies/catalogue.h"

namespace plait::offload_test {

CostModel with_processor(const char* name) {
  CostModel costs;
  costs.machine.processor = find_device(name);
  return costs;
}
Adam adam_of(double billions) {
  Adam op;  // gradients in fp16, as ZeRO-Offload keeps them
  op.elements = static_cast<std::int64_t>(billions * 1e9), op.grad = DType::kFp16;
  op.weight = DType::kFp16;
  return op;
}

// Ren et al. 2021, table 4: CPU-Adam on the two processors of a DGX-2.
TEST(CpuAdam, TakesWhatDeepSpeedsTookOnADgx2) {
  const CostModel costs = with_processor("xeon-8168-x2");
  const std::pair<double, double> published[] = {
      {1, 0.22}, {2, 0.51}, {4, 1.03}, {8, 2.41}, {10, 2.57}};
  for (const auto& [billions, seconds] : published) {
    const double t = costs.on_processor(adam_of(billions)).total().value;
    EXPECT_NEAR(t / seconds, 1, 0.3) << billions;
  }
}

TEST(CpuAdam, RanksOfANodeShareItsMemory) {
  const CostModel costs = with_processor("epyc-7742-x2");
  const double alone = costs.on_processor(adam_of(8)).total().value;
  EXPECT_NEAR(costs.on_processor(adam_of(1), 8).total().value / alone, 1, 0.01);
}

// DeepSpeed pull request 7474: 0.70 s less a step with --bind_cores_to_rank, for 3.09 billion
// parameters on two ranks of a host of 128 cores.
TEST(CpuAdam, ThreadsThatAreNotBoundWaitForOneAnother) {
  CostModel bound = with_processor("epyc-7742-x2"), unbound = bound;
  unbound.machine.bound_cores = false;
  const Adam half = adam_of(3.09 / 2);
  const Seconds more = unbound.on_processor(half, 2).total() - bound.on_processor(half, 2).total();
  EXPECT_NEAR(more.value, 3.084 - 2.383, 0.01);
  EXPECT_EQ(unbound.on_processor(half).total(), bound.on_processor(half).total()) << "alone";
}

TEST(CpuAdam, IsBoundByTheHostsMemory) {
  const Cost cost = with_processor("xeon-8480c-x2").on_processor(adam_of(1));
  EXPECT_GT(cost.share[kHostMemory].value, 0.9 * cost.total().value);
  EXPECT_EQ(cost.share[kMemoryBandwidth], Seconds());
}

TEST(Drives, ReadAndWriteAtTheirRatesAndAreShared) {
  CostModel costs;
  costs.machine.storage_bandwidth = BytesPerSecond(8e9);
  costs.machine.storage_write_bandwidth = BytesPerSecond(4e9);
  const Cluster cluster = make_cluster({});
  const Bytes bytes(1'000'000'000);
  const Copy read{Place::kStorage, Place::kHost, bytes},
      write{Place::kHost, Place::kStorage, bytes};
  EXPECT_DOUBLE_EQ(costs.copy(read, cluster, 8).total().value, 1);
  EXPECT_DOUBLE_EQ(costs.copy(write, cluster, 8).total().value, 2);
  costs.machine.storage_write_bandwidth = {};
  EXPECT_DOUBLE_EQ(costs.copy(write, cluster, 8).total().value, 1);
}

/// Two pipeline stages of which the second has 3 bytes in host memory, the first 1.
Plan two_stages() {
  Plan plan;
  plan.mesh[Axis::kPp] = 2, plan.mesh[Axis::kDp] = 8;
  for (const std::int64_t bytes : {1, 3}) {
    Tensor t;
    t.dims[0] = Dim{bytes}, t.rank = 1, t.dtype = DType::kInt8;
    t.place = Place::kHost, t.persistent = true, t.scope = Scope::kRole;
    const auto id = static_cast<TensorId>(plan.tensors.size());
    plan.tensors.push_back(t);
    plan.blocks.push_back(
        {"b", {{Compute(Fill{}), Stream::kHost, Phase::kOptimizer, {{id, Use::kWrite, 0}}}}});
    plan.programs.push_back({{{static_cast<BlockId>(id), 0, 0, 0, -1}}});
  }
  return plan;
}

TEST(NodeUse, IsThatOfTheFullestNode) {
  const Cluster cluster = make_cluster({.nodes = 2});  // of 8 devices
  EXPECT_EQ(node_use(two_stages(), cluster, {}, Bytes(20)).memory, Bytes(8 * 3));
  EXPECT_FALSE(node_use(two_stages(), cluster, {}, Bytes(20)).fits());
  std::vector<std::int64_t> mixed;  // the ranks of both stages in turn
  for (std::int64_t rank = 0; rank < 16; ++rank) mixed.push_back(rank % 8 * 2 + rank / 8);
  EXPECT_EQ(node_use(two_stages(), cluster, mixed, Bytes(20)).memory, Bytes(4 * 1 + 4 * 3));
}

}  // namespace plait::offload_test
