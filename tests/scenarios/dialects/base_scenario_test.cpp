// What an import takes from its base.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/scenarios/dialects/imported.h"

namespace plait::import_test {

TEST(BaseScenario, WhatTheFileSaysTheBaseNeedNot) {
  const auto base = [](const char* workload) {
    return fmt::format(R"({{"model": "llama-3.1-8b", "cluster": "hgx-h100", "workload": {}}})",
                       workload);
  };
  const char* const file = R"({"train_batch_size": 64})";
  const Scenario s = imported(Dialect::kDeepSpeed, file, base(R"({"sequence_length": 4096})"));
  EXPECT_EQ(s.workload.global_batch, 64);
  EXPECT_EQ(refusal(Dialect::kDeepSpeed, file, base("{}")), "D005 line 0");
  EXPECT_THROW(imported(Dialect::kDeepSpeed, file, base(R"({"sequence_length": "long"})")),
               InputError);
}

}  // namespace plait::import_test
