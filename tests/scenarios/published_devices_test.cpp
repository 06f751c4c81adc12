// The words by which sources call GPUs: which device of the catalogue, in which machine, with how
// much memory, and how many a node has.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/published/device_called.h"
#include "scenarios/published/scenario_of.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_devices_test {

using nlohmann::json;

TEST(PublishedDevices, AreThoseOfTheCatalogue) {
  EXPECT_EQ(device_called("A100 80GB PCIe"), "a100-80-pcie");
  EXPECT_EQ(device_called("NVIDIA A100-40GB"), "a100-40-sxm");
  EXPECT_EQ(device_called("A100"), "a100-80-sxm");
  EXPECT_EQ(device_called("8x V100 16GB"), "v100-sxm2-16");
  EXPECT_EQ(device_called("H100 NVL"), "h100-nvl");
  EXPECT_EQ(device_called("h100"), "h100-sxm");
  EXPECT_EQ(device_called("H100 96GB"), "h100-96-sxm");
  EXPECT_EQ(device_called("GeForce RTX4090"), "rtx-4090");
  EXPECT_EQ(device_called("RTX A6000"), "rtx-a6000");
  EXPECT_EQ(device_called("AMD Instinct MI300X"), "mi300x");
  EXPECT_EQ(device_called("A100 24GB"), "a100-80-sxm") << "24 GB is no board's";
  EXPECT_EQ(device_called("A100-40G"), "a100-40-sxm");
  EXPECT_EQ(device_called("8xH100"), "h100-sxm");
  EXPECT_EQ(device_called("A6000"), "rtx-a6000");
  EXPECT_EQ(device_called("A800-40GB"), "a800-80-sxm") << "no A800 of the catalogue has 40 GB";
  EXPECT_EQ(device_called("Tesla V100-PCIE-32GB"), "v100-pcie-32");
  EXPECT_EQ(device_called("V100S 32GB"), "v100s-pcie-32");
  EXPECT_EQ(device_called("A800 80GB PCIe"), "a800-80-pcie");
  EXPECT_EQ(device_called("H800 PCIe"), "h800-pcie");
  EXPECT_EQ(device_called("V100"), "v100-sxm2-32");
  EXPECT_EQ(device_called("Gaudi 2"), "");
  EXPECT_EQ(node_with("mi300x"), "mi300x-8");
  EXPECT_EQ(node_with("l40s"), "pcie-8");
  json record = published_sample();
  record["cluster"]["gpu"] = "A100-40GB";
  EXPECT_EQ(scenario(record)["cluster"]["preset"], "dgx-a100");
  EXPECT_TRUE(assumes(record, "\"A100-40GB\": a100-40-sxm in dgx-a100"));
}

TEST(PublishedDevices, HaveTheMemoryOfTheirBoardsName) {
  json record = published_sample();
  const auto device = [&record](const char* gpu) {
    record["cluster"]["gpu"] = gpu;
    return scenario(record)["cluster"]["device"];
  };
  EXPECT_EQ(device("A100-64GB"), json::parse(R"({"preset": "a100-80-sxm", "memory": "64 GiB"})"));
  EXPECT_EQ(device("H100-94GB")["memory"], "94 GiB");
  EXPECT_EQ(device("A100-SXM4-80GB"), "a100-80-sxm");
  EXPECT_EQ(device("T4 16GB"), "t4");
  EXPECT_EQ(device("GH200 120GB"), "gh200-96") << "of the processor";
  EXPECT_EQ(device("H200 NVL"), "h200-nvl");
}

// A DGX A100 has eight boards.
TEST(PublishedDevices, ShareTheMemoryOfANode) {
  json record = published_sample();
  const auto device = [&record](const char* gpu) {
    record["cluster"]["gpu"] = gpu;
    return scenario(record)["cluster"]["device"];
  };
  EXPECT_EQ(device("DGX A100 640GB"), "a100-80-sxm");
  EXPECT_EQ(device("DGX A100 320GB"), "a100-40-sxm");
  EXPECT_TRUE(assumes(record, "\"DGX A100 320GB\": the memory of a node, \"DGX A100 40GB\" each"));
  EXPECT_EQ(device("HGX H200 1128GB"), "h200-sxm");
  EXPECT_EQ(device("A100 80GB"), "a100-80-sxm");
}

TEST(PublishedDevices, OfSeveralKindsAreListed) {
  json record = published_sample();
  record["cluster"]["gpu"] = "A100 and H100";
  EXPECT_TRUE(assumes(record, "\"A100 and H100\": 2 kinds of GPU, all taken for h100-sxm"));
  record["cluster"]["gpu"] = "H100/H200";
  EXPECT_TRUE(assumes(record, "\"H100/H200\": 2 kinds of GPU, all taken for h200-sxm"));
  EXPECT_EQ(models_called("RTX 3090 Ti").size(), 1U);
  EXPECT_EQ(models_called("V100-SXM2-32GB").size(), 1U);
}

TEST(PublishedDevices, OfANodeAreThoseOfTheMachineTheyAreUsuallyIn) {
  json record = published_sample();
  record["cluster"] = {{"num_gpus", 64}};
  record["parallel"] = {{"dp", 64}};
  const auto per_node = [&record](const char* gpu) {
    record["cluster"]["gpu"] = gpu;
    return scenario(record)["cluster"]["devices_per_node"];
  };
  EXPECT_EQ(per_node("GH200"), 4);
  EXPECT_TRUE(assumes(record, "GPUs of a node: 4"));
  EXPECT_EQ(per_node("GB10"), 1);
  EXPECT_EQ(per_node("H100 SXM"), 8);
  EXPECT_EQ(per_node("L40S"), 8);
}

}  // namespace plait::published_devices_test
