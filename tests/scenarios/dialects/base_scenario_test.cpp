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

TEST(BaseScenario, WhatItHasToSayIsShown) {
  const std::string server =
      "vllm serve zai-org/GLM-4.5-Air --tensor-parallel-size 8 --speculative-config "
      "'{\"method\": \"mtp\", \"num_speculative_tokens\": 1}'";
  try {
    imported(Dialect::kVllm, server, R"({"cluster": "hgx-h100"})");
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    const std::string shown = R"(--base '{"serving": {"speculative": {"acceptance": 0.7}}}')";
    EXPECT_NE(e.text().cure.find(shown), std::string::npos) << e.text().cure;
  }
}

}  // namespace plait::import_test
