// What follows from whose engine serves.
#include <gtest/gtest.h>

#include "scenarios/scenario.h"

namespace plait::serving_engines_test {

/// `more`: members behind serving.
Scenario scenario_of(const std::string& serving, const std::string& more = "") {
  return parse_scenario(R"({"model": "llama-3.1-8b", "cluster": {"preset": "rtx-4090-8",
      "devices_per_node": 1}, "serving": )" +
                            serving + more + "}",
                        "x");
}

EngineLimits limits_of(const std::string& serving) { return scenario_of(serving).serving->limits; }

// Of 24 GiB llama.cpp leaves 1 where it looks for what fits (--fit-target), else nothing.
TEST(ServingEngines, LlamaCppTakesWhatIsFree) {
  EXPECT_EQ(limits_of("{}").memory_utilization, 0.9);
  const EngineLimits fitted = limits_of(R"({"layers": {"deal": "gpu_layers"}})");
  EXPECT_EQ(fitted.engine, ServingEngine::kLlamaCpp);
  EXPECT_NEAR(fitted.memory_utilization, 23.0 / 24, 5e-3);
  EXPECT_EQ(limits_of(R"({"layers": {"deal": "gpu_layers", "gpu_layers": 20}})").memory_utilization,
            1);
  EXPECT_EQ(limits_of(R"({"engine": {"kernels": "llama_cpp"}})").memory_utilization, 1);
  EXPECT_EQ(limits_of(R"({"layers": {"deal": "gpu_layers"}, "engine":
                          {"gpu_memory_utilization": 0.5}})")
                .memory_utilization,
            0.5);
  EXPECT_EQ(limits_of(R"({"layers": {"deal": "sequential"}})").memory_utilization, 0.9);
}

// The output matrix of llama.cpp's mixes is in Q6_K.
TEST(ServingEngines, MixesHaveAHeadOfTheirOwn) {
  const auto head = [](const std::string& serving) {
    return scenario_of(serving).serving->precision.head;
  };
  EXPECT_EQ(head(R"({"weights": "q4_k_m"})"), WeightFormat::kQ6K);
  EXPECT_EQ(head(R"({"weights": "q4_k_m", "head_weights": "q8_0"})"), WeightFormat::kQ8_0);
  EXPECT_EQ(head(R"({"weights": "q4_k"})"), WeightFormat::kPlain);
}

// vLLM has one product for queries, keys and values, llama.cpp three.
TEST(ServingEngines, LlamaCppHasAProductForEachProjection) {
  EXPECT_EQ(scenario_of("{}").kernels.qkv, Fusion::kFused);
  const std::string llama_cpp = R"({"layers": {"deal": "gpu_layers"}})";
  const Kernels kernels = scenario_of(llama_cpp).kernels;
  EXPECT_EQ(kernels.qkv, Fusion::kEager);
  EXPECT_EQ(kernels.gate, Fusion::kFused);
  EXPECT_EQ(scenario_of(llama_cpp, R"(, "kernels": {"gate": "eager"})").kernels.qkv,
            Fusion::kEager);
  EXPECT_EQ(scenario_of(llama_cpp, R"(, "kernels": {"qkv": "fused"})").kernels.qkv, Fusion::kFused);
}

}  // namespace plait::serving_engines_test
