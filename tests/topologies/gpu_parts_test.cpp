// Parts of one GPU: what each has, and the memory that all of them share.

#include <gtest/gtest.h>

#include "core/error.h"
#include "topologies/catalogue.h"
#include "topologies/gpu_part.h"
#include "topologies/network.h"

namespace plait::gpu_parts_test {

Cluster in_parts(std::int64_t parts, const std::string& gpu = "h200-sxm") {
  return make_cluster(
      {.preset = "gpu-parts", .device = find_device(gpu), .devices_per_node = parts});
}

std::string code_of(const ClusterSpec& spec) {
  try {
    make_cluster(spec);
  } catch (const InputError& e) {
    return e.text().code;
  }
  return "none";
}

TEST(GpuParts, MultiprocessorsAreSplitAsTheDriverDoes) {
  const Device h200 = find_device("h200-sxm"), a100 = find_device("a100-80-sxm");
  EXPECT_EQ(multiprocessors_of_part(h200, 1), 128);  // of 132, in steps of eight
  EXPECT_EQ(multiprocessors_of_part(h200, 2), 64);
  EXPECT_EQ(multiprocessors_of_part(h200, 4), 32);
  EXPECT_EQ(multiprocessors_of_part(h200, 16), 8);
  EXPECT_EQ(multiprocessors_of_part(h200, 17), 0);
  EXPECT_EQ(multiprocessors_of_part(a100, 4), 26);  // of 108, in steps of two
  EXPECT_EQ(multiprocessors_of_part(a100, 27), 4);
  EXPECT_EQ(multiprocessors_of_part(a100, 28), 0);
}

TEST(GpuParts, APartHasItsShareOfComputeAndMoreOfBandwidth) {
  const Device gpu = find_device("h200-sxm"), part = part_of(gpu, 4);
  EXPECT_DOUBLE_EQ(part.peak_bf16 / gpu.peak_bf16, 32.0 / 132);
  EXPECT_EQ(part.memory.value, gpu.memory.value / 4);
  EXPECT_EQ(part.l2_cache.value, gpu.l2_cache.value / 4);
  EXPECT_GT(part.memory_bandwidth / gpu.memory_bandwidth, 1.3 * 32 / 132);
  EXPECT_LT(part.memory_bandwidth / gpu.memory_bandwidth, 0.5);
  EXPECT_EQ(part_of(gpu, 1).memory_bandwidth.value, gpu.memory_bandwidth.value);
}

TEST(GpuParts, EveryMessageCrossesTheOneMemoryTwice) {
  const Cluster cluster = in_parts(4);
  EXPECT_TRUE(cluster.shares_memory());
  EXPECT_EQ(cluster.variation, 0);
  const auto network = make_network(cluster);
  const std::optional<LinkId> memory = network->memory_of(0);
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(network->name_of(*memory), "node 0: memory");
  EXPECT_EQ(network->links()[*memory].bandwidth.value,
            find_device("h200-sxm").memory_bandwidth.value);
  for (std::int64_t from = 0; from < 4; ++from) {
    EXPECT_EQ(network->memory_of(from), memory);
    for (std::int64_t to = 0; to < 4; ++to) {
      std::vector<LinkId> links;
      network->route(from, to, 0, links);
      EXPECT_EQ(std::ranges::count(links, *memory), from == to ? 0 : 2);
    }
  }
  const Path path = route(cluster, 0, 3);
  EXPECT_EQ(path.link, LinkClass::kDeviceMemory);
  EXPECT_EQ(path.bandwidth.value, find_device("h200-sxm").memory_bandwidth.value / 2);
}

TEST(GpuParts, PartsShareTheLinkToTheHost) {
  EXPECT_DOUBLE_EQ(in_parts(4).host.bandwidth.value * 4,
                   find_device("h200-sxm").host_bandwidth.value);
}

TEST(GpuParts, OtherDevicesHaveMemoryOfTheirOwn) {
  const Cluster cluster = make_cluster({.preset = "hgx-h200"});
  EXPECT_FALSE(cluster.shares_memory());
  EXPECT_FALSE(make_network(cluster)->memory_of(0).has_value());
}

TEST(GpuParts, TooManyPartsAndSeveralGpusAreRefused) {
  EXPECT_EQ(code_of({.preset = "gpu-parts", .devices_per_node = 16}), "none");
  EXPECT_EQ(code_of({.preset = "gpu-parts", .devices_per_node = 17}), "C004");
  EXPECT_EQ(code_of({.preset = "gpu-parts", .nodes = 2}), "C007");
  NodeSpec with_nics = find_node("gpu-parts");
  with_nics.nics = 1;
  EXPECT_EQ(code_of({.own_node = with_nics}), "C007");
  EXPECT_EQ(code_of({.preset = "gpu-parts", .device = find_device("cpu-host")}), "C004");
}

}  // namespace plait::gpu_parts_test
