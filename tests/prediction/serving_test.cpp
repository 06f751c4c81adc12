#include "prediction/serving.h"

#include <gtest/gtest.h>

namespace plait::serving_test {

/// Of one request at a time, over eight GPUs that NVLink joins.
Seconds per_token(const char* engine, const char* own_kernels) {
  const Scenario s = parse_scenario(
      R"({"model": "llama-3.1-8b", "strategy": {"tp": 8},
          "cluster": {"preset": "hgx-h100", "nodes": 1},
          "serving": {"requests": {"concurrency": 1, "count": 1}}})",
      "x", {{"serving.engine.kernels", engine}, {"serving.engine.custom_all_reduce", own_kernels}});
  const RunFacts none;
  return predict_serving(s, ServingQuestion::kAsWritten, none).summary.all.per_token.mean;
}

// Of the engines, llama.cpp alone has no kernel of its own for small sums (docs/multi-gpu.md at
// 5815cb84: NCCL does them): told to use NCCL it takes as long, and the others longer.
TEST(Serving, SmallAllReducesAreByTheEnginesOwnKernelsWhereItHasSome) {
  EXPECT_EQ(per_token("llama_cpp", "true"), per_token("llama_cpp", "false"));
  EXPECT_LT(per_token("vllm", "true"), per_token("vllm", "false"));
  EXPECT_LT(per_token("tensorrt_llm", "true"), per_token("tensorrt_llm", "false"));
}

}  // namespace plait::serving_test
