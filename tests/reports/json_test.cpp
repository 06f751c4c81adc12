#include "reports/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/reports/made_up.h"

namespace plait::json_test {

nlohmann::json parsed(const Report& r) { return nlohmann::json::parse(to_json(r)); }

TEST(Json, DocumentedKeysAreThere) {
  const nlohmann::json j = parsed(MadeUp().report());
  for (const char* key : {"scenario",
                          "model",
                          "cluster",
                          "layout",
                          "world_size",
                          "mesh",
                          "fits",
                          "step_time_s",
                          "tokens_per_s",
                          "tokens_per_s_per_gpu",
                          "model_tflops_per_gpu",
                          "hardware_tflops_per_gpu",
                          "mfu",
                          "hfu",
                          "peak_flops_per_gpu_tflops",
                          "peak_flops_dtype",
                          "peak_memory_bytes",
                          "bound_by",
                          "breakdown",
                          "memory",
                          "critical_path",
                          "sensitivity",
                          "collectives",
                          "provenance",
                          "run"}) {
    EXPECT_TRUE(j.contains(key)) << key;
  }
}

TEST(Json, GroupsSumTheirParts) {
  const nlohmann::json communication =
      parsed(MadeUp().report())["breakdown"]["exposed_communication"];
  EXPECT_DOUBLE_EQ(communication["dp_s"].get<double>(), 0.5e-6);
  EXPECT_DOUBLE_EQ(communication["pp_s"].get<double>(), 0.5e-6);
  EXPECT_DOUBLE_EQ(communication["total_s"].get<double>(), 1e-6);
}

TEST(Json, BreakdownAndCriticalPathSumToTheStepTime) {
  const nlohmann::json j = parsed(MadeUp().report());
  for (const char* key : {"breakdown", "critical_path"}) {
    double sum = 0;
    for (const auto& group : j[key]) sum += group["total_s"].get<double>();
    EXPECT_NEAR(sum, j["step_time_s"].get<double>(), 1e-15) << key;
  }
}

TEST(Json, MemoryItemsSumToThePeakAndNameTheirSource) {
  const nlohmann::json m = parsed(MadeUp().report())["memory"];
  std::int64_t sum = 0;
  for (const auto& bytes : m["items"]) sum += bytes.get<std::int64_t>();
  EXPECT_EQ(sum, m["peak_memory_bytes"].get<std::int64_t>());
  EXPECT_EQ(m["items"]["cuda_context_bytes"], 150);
  EXPECT_EQ(m["sources"]["cuda_context"], "a test");
}

TEST(Json, NumbersReadBackTheSame) {
  MadeUp m;
  m.timeline.step_time = 1234567;
  const Report r = m.report();
  EXPECT_EQ(parsed(r)["tokens_per_s"].get<double>(), r.tokens_per_s);
}

TEST(Json, BytesThatAreNoUtf8DoNotStopAReport) {
  Report r = MadeUp().report();
  r.run.command = "plait run \xff\xfe.json";
  EXPECT_TRUE(nlohmann::json::accept(to_json(r)));
}

}  // namespace plait::json_test
