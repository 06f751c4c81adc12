#include "prediction/fill_axis.h"

#include <gtest/gtest.h>

namespace plait::fill_axis_test {

/// On 2 x 8 devices.
std::string scenario_of(const std::string& strategy) {
  return R"({"model": "gpt2", "workload": {"sequence_length": 128, "global_batch": 64},
             "cluster": {"preset": "dgx-a100", "nodes": 2}, "strategy": )" +
         strategy + "}";
}

TEST(FillAxis, ReplicasTakeTheDevicesThatAreLeft) {
  const auto filled =
      filling_axis(scenario_of(R"({"tp": 8, "dp": 2})"), "x", {{"strategy.tp", "4"}});
  EXPECT_EQ(filled, (Override{"strategy.dp", "4"}));  // 16 / 4
}

TEST(FillAxis, ShardsGiveWayWhereThereAreNoReplicas) {
  const auto filled = filling_axis(scenario_of(R"({"fsdp": 16})"), "x", {{"strategy.tp", "2"}});
  EXPECT_EQ(filled, (Override{"strategy.fsdp", "8"}));  // 16 / 2
}

TEST(FillAxis, AnAxisThatIsGivenStays) {
  const std::vector<Override> both = {{"strategy.tp", "4"}, {"strategy.dp", "2"}};
  EXPECT_FALSE(filling_axis(scenario_of(R"({"tp": 8, "dp": 2})"), "x", both));
}

TEST(FillAxis, NoneWhereNoWholeSizeFillsTheDevices) {
  EXPECT_FALSE(filling_axis(scenario_of(R"({"tp": 8, "dp": 2})"), "x", {{"strategy.tp", "3"}}));
}

}  // namespace plait::fill_axis_test
