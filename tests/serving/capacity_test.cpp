// The room that engines leave for keys and values.
#include "serving/capacity.h"

#include <gtest/gtest.h>

#include "tests/serving/served.h"

namespace plait::capacity_test {

/// The cache on each of `layout`'s devices, GiB.
double cache_of(const ServedLayout& layout, bool eight = false) {
  ServedModel s = served(layout);
  if (eight) s.precision.products = s.precision.expert_products = DType::kFp8;
  EngineLimits limits;
  limits.max_context = 16000, limits.max_sequences = 1024;
  const CacheCapacity c = cache_capacity(s, limits, {});
  return static_cast<double>(c.stages.back().cache.value) / (1 << 30);
}

/// As vLLM printed it, 0.9 of an H100's 79.18 GiB, sequences of 16,000 tokens (llm-d-benchmark,
/// config_explorer/empirical-vllm-memory-results.md). The prediction counts the driver's context,
/// which vLLM does not.
TEST(Capacity, OfVllmIsWhatItPrinted) {
  const std::string h100 = "hgx-h100";
  EXPECT_NEAR(cache_of({.model = "llama-3.1-8b", .cluster = h100}), 51.38, 0.5);
  EXPECT_NEAR(cache_of({.model = "qwen3-0.6b", .cluster = h100}), 64.45, 0.5);
  EXPECT_NEAR(cache_of({.model = "qwen3-32b", .cluster = h100}), 4.45, 0.5);
  EXPECT_NEAR(cache_of({.tp = 2, .model = "llama-3.3-70b", .cluster = h100}, true), 32.0, 0.5);
}

/// Sequences that are sampled take room from the cache.
TEST(Capacity, SamplingTakesRoomByTheSequence) {
  const auto cache = [](std::int64_t sequences) {
    EngineLimits limits;
    limits.max_sequences = sequences;
    return cache_capacity(served(), limits, {}).stages.back().cache;
  };
  EXPECT_GT(cache(256), cache(1024));
  EXPECT_EQ(cache(1), cache(2));  // activations of the largest step are more
}

}  // namespace plait::capacity_test
