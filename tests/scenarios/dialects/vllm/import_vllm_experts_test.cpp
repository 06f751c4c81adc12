// What command lines of `vllm serve` say of experts.
#include <gtest/gtest.h>

#include "tests/scenarios/dialects/imported.h"

namespace plait::import_test {

// DeepEP is kept, of which a run then says (W001) that served experts do not have it; what served
// tokens do here is vLLM's default.
TEST(ImportVllmExperts, HowTokensReachExpertsIsReadWhereAScenarioHasIt) {
  const std::string line =
      "vllm serve Qwen/Qwen3-30B-A3B --enable-expert-parallel --all2all-backend ";
  const auto exchange = [&line](const std::string& backend) {
    const char* const base = R"({"model": "llama-3.1-8b", "cluster": "hgx-h100", "serving": {}})";
    return imported(Dialect::kVllm, line + backend, base).kernels.exchange;
  };
  EXPECT_EQ(exchange("deepep_low_latency"), Dispatcher::kDeepEp);
  EXPECT_EQ(exchange("deepep_high_throughput"), Dispatcher::kDeepEp);
  EXPECT_EQ(exchange("allgather_reducescatter"), Dispatcher::kNccl);
  for (const char* known : {"deepep_low_latency", "allgather_reducescatter"})
    EXPECT_EQ(warnings(Dialect::kVllm, line + known), "") << known;
  EXPECT_EQ(warnings(Dialect::kVllm, line + "pplx --enable-eplb"),
            "W007: not read: --all2all-backend pplx\nW007: not read: --enable-eplb\n");
}

}  // namespace plait::import_test
