// What a scenario says of the thread that issues ops.
#include <gtest/gtest.h>

#include "scenarios/scenario.h"

namespace plait::host_part_test {

Scenario parse(const std::vector<Override>& overrides = {}) {
  return parse_scenario(R"({"name":"s","model":"tiny","cluster":"hgx-h100",
    "workload":{"sequence_length":64,"global_batch":16}})",
                        "s.json", overrides);
}

TEST(HostPart, IssuesInNoTimeUnlessItSays) {
  const Scenario s = parse();
  EXPECT_FALSE(s.host.takes_time());
  EXPECT_EQ(s.canonical_json.find("\"host\""), std::string::npos);
}

TEST(HostPart, CollectivesTakeAsLongAsLaunchesUnlessItSays) {
  const Scenario both = parse({{"host", "\"20 us\""}});
  EXPECT_DOUBLE_EQ(both.host.launch_time.value, 20e-6);
  EXPECT_EQ(both.host.collective_time, both.host.launch_time);
  EXPECT_NE(both.canonical_json.find("\"host\""), std::string::npos);
  const Scenario each = parse({{"host.launch_time", R"({"value":"20 us","source":"measured"})"},
                               {"host.collective_time", "\"50 us\""},
                               {"host.graphs", "true"}});
  EXPECT_DOUBLE_EQ(each.host.collective_time.value, 50e-6);
  EXPECT_TRUE(each.host.graphs);
}

// A layer's pass cannot be one graph where the host waits in it.
TEST(HostPart, HasNoGraphsOfLayersThatItWaitsIn) {
  const auto code = [](std::vector<Override> more) -> std::string {
    more.insert(more.begin(), {{"framework", "\"megatron-core\""}, {"host.graphs", "true"}});
    try {
      load_scenario(
          std::string(PLAIT_SOURCE_DIR) + "/scenarios/systems/megatron-moe-mixtral-8x7b.json",
          more);
    } catch (const InputError& e) {
      return e.text().code + " " + e.text().where.path;
    }
    return "";
  };
  EXPECT_EQ(code({}), "S198 host.graphs");
  EXPECT_EQ(code({{"host.waits_for_routing", "false"}}), "");
  EXPECT_EQ(code({{"workload.capacity_factor", "1.5"}}), "");
}

// Adam's update of offloaded state runs on what such a node usually has.
TEST(HostPart, NodesHaveTheirUsualProcessorsWhereAPlanPutsWorkThere) {
  const Override offload = {"strategy.offload.optimizer", "\"cpu\""};
  EXPECT_EQ(parse().processor.name, "");
  EXPECT_EQ(parse({offload}).processor.name, "xeon-8480c-x2");
  EXPECT_NE(parse({offload}).canonical_json.find("xeon-8480c-x2"), std::string::npos);
  EXPECT_EQ(parse({offload, {"cluster", "\"dgx-a100\""}}).processor.name, "epyc-7742-x2");
  EXPECT_EQ(parse({offload, {"cluster.processor", "\"cpu-host\""}}).processor.name, "cpu-host");
  EXPECT_EQ(parse({offload, {"cluster", "\"pcie-8\""}}).processor.name, "");
}

// Activations that leave the device are held against their memory; where that is not known, this is
// said.
TEST(HostPart, NodesHaveTheMemoryThatActivationsGoTo) {
  const Override offload = {"strategy.offload.activations", "\"cpu\""};
  const Scenario known = parse({offload});
  EXPECT_EQ(known.processor.name, "xeon-8480c-x2");
  EXPECT_TRUE(known.warnings.empty());
  const Scenario unknown = parse({offload, {"cluster", "\"pcie-8\""}});
  ASSERT_EQ(unknown.warnings.size(), 1U);
  EXPECT_TRUE(unknown.warnings[0].code == "W031") << printed(unknown.warnings[0]);
}

TEST(HostPart, NothingLeavesADeviceWhoseMemoryIsItsHosts) {
  for (const char* what : {"optimizer", "activations"}) {
    try {
      parse({{std::string("strategy.offload.") + what, "\"cpu\""},
             {"cluster", "\"dgx-spark\""},
             {"cluster.processor", "\"cpu-host\""}});
      ADD_FAILURE() << "S200 is not raised";
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, "S200");
    }
  }
}

}  // namespace plait::host_part_test
