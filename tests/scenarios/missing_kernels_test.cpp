// Kernels that libraries do not have for the sizes or the device that a scenario has.
#include "scenarios/missing_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plait::missing_kernels_test {

constexpr const char* kTiny = R"({"name": "s", "model": "tiny",
  "workload": {"sequence_length": 64, "global_batch": 16}, "strategy": {},
  "cluster": {"preset": "hgx-h100", "nodes": 1}})";

TEST(MissingKernels, OfGpusThatHaveNoFlashAttentionIsWarnedAbout) {
  const auto told = [](const std::string& device, const std::string& fused) {
    const Warnings found = parse_scenario(kTiny, "s.json",
                                          {{"cluster.device", device},
                                           {"workload.precision", "fp16"},
                                           {"workload.flash_attention", fused}})
                               .warnings;
    return std::ranges::count(found, "W023", &Warning::code) == 1;
  };
  for (const char* old : {"v100-sxm2-32", "v100-sxm3-32"}) {
    EXPECT_TRUE(told(old, "true")) << old;
    EXPECT_FALSE(told(old, "false")) << old;
  }
  EXPECT_FALSE(told("a100-80-sxm", "true"));
}

TEST(MissingKernels, InEightBitsWantsSizesInSixteens) {
  const auto told = [](const std::vector<Override>& sets) {
    std::vector<Override> all = {{"workload.precision.matmul", "fp8"}};
    all.insert(all.end(), sets.begin(), sets.end());
    const Warnings found = parse_scenario(kTiny, "s.json", all).warnings;
    return std::ranges::count(found, "W037", &Warning::code) == 1;
  };
  EXPECT_FALSE(told({}));
  EXPECT_TRUE(told({{"model.ffn_hidden", "264"}}));
  EXPECT_TRUE(told({{"workload.sequence_length", "33"}}));
}

TEST(MissingKernels, OfGpusThatHaveNoUnitsForItIsWarnedAbout) {
  const auto warnings = [](const std::string& cluster, const std::string& precision) {
    return parse_scenario(kTiny, "s.json",
                          {{"cluster", cluster},
                           {"workload.precision", precision},
                           {"workload.flash_attention", "false"}})
        .warnings;
  };
  const Warnings found = warnings("dgx-v100", "bf16");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(printed(found[0]).starts_with("W014: v100")) << found[0].text;
  EXPECT_TRUE(warnings("dgx-v100", "fp16").empty());
  EXPECT_TRUE(warnings("dgx-a100", "bf16").empty());
}

}  // namespace plait::missing_kernels_test
