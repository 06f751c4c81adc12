// What profiles of frameworks fill in.
#include "scenarios/framework.h"

#include <gtest/gtest.h>

#include "scenarios/scenario.h"

namespace plait {
namespace {

std::string scenario_with(const std::string& more) {
  return R"({"framework": "megatron-lm-2021", "model": "gpt2", "cluster": "dgx-a100",
             "workload": {"sequence_length": 1024, "global_batch": 8)" +
         more + "}}";
}

TEST(Framework, FillsInWhatTheScenarioDoesNotSay) {
  EXPECT_FALSE(parse_scenario(scenario_with(""), "x").workload.flash_attention);
  EXPECT_TRUE(
      parse_scenario(scenario_with(R"(, "flash_attention": true)"), "x").workload.flash_attention);
}

TEST(Framework, AShortFormStaysWhatItSays) {
  const Scenario s = parse_scenario(scenario_with(R"(, "precision": "bf16")"), "x");
  EXPECT_EQ(s.workload.precision.weights, DType::kBf16);
  EXPECT_EQ(s.workload.precision.gradients, DType::kFp16) << "from the profile";
}

// OneFlow has one stream for kernels and collectives where the model is split, else two.
TEST(Framework, SomeDefaultsAskForSplitModels) {
  const auto overlaps = [](const char* strategy) {
    const std::string text = std::string(R"({"framework": "oneflow", "model": "gpt2",
        "cluster": "dgx-a100", "workload": {"sequence_length": 1024, "global_batch": 8},
        "strategy": )") + strategy +
                             "}";
    return parse_scenario(text, "oneflow").strategy.data.overlap;
  };
  EXPECT_TRUE(overlaps(R"({"dp": 8})"));
  EXPECT_TRUE(overlaps(R"({"dp": 8, "tp": 1})"));
  EXPECT_FALSE(overlaps(R"({"dp": 4, "tp": 2})"));
  EXPECT_FALSE(overlaps(R"({"dp": 4, "pp": 2})"));
  EXPECT_TRUE(overlaps(R"({"dp": 4, "tp": 2, "data": {"overlap": true}})"));
}

TEST(Framework, EveryProfileCanBeUsedAndHasSources) {
  for (const Framework& f : frameworks()) {
    const std::string text = R"({"framework": ")" + f.name +
                             R"(", "model": "gpt2", "cluster": "dgx-a100",
        "strategy": {"dp": 8, "zero_stage": 1},
        "workload": {"sequence_length": 1024, "global_batch": 8}})";
    EXPECT_NO_THROW(parse_scenario(text, f.name)) << f.name;
    for (const FrameworkDefault& d : f.defaults) EXPECT_FALSE(d.source.empty()) << d.path;
  }
}

}  // namespace
}  // namespace plait
