#include "scenarios/dialects/vllm_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "plan/refusal.h"

namespace plait::vllm {
namespace {

/// vllm/config/cache.py, BlockSize.
constexpr std::int64_t kBlocks[] = {1, 8, 16, 32, 64, 128, 256};

}  // namespace

void require_accepted(const EngineLimits& limits, const std::string& path) {
  const auto refuse = [&](const char* key, std::string problem, std::string expected) {
    throw refusal("D011", "vLLM does not start with " + problem, path + "." + key,
                  std::move(expected), fmt::format("change {}.{}", path, key));
  };
  // Both of vllm/config/scheduler.py, SchedulerConfig.
  if (limits.max_tokens < limits.max_sequences) {
    refuse(
        "max_num_batched_tokens",
        fmt::format("steps of {} tokens and {} sequences", limits.max_tokens, limits.max_sequences),
        fmt::format("at least max_num_seqs = {}", limits.max_sequences));
  }
  if (!limits.chunked_prefill && limits.max_tokens < limits.max_context) {
    refuse("max_num_batched_tokens",
           fmt::format("steps of {} tokens where prompts of {} are not cut", limits.max_tokens,
                       limits.max_context),
           fmt::format("at least max_model_len = {}", limits.max_context));
  }
  if (std::ranges::find(kBlocks, limits.block_size) == std::end(kBlocks)) {
    refuse("block_size", fmt::format("blocks of {} tokens", limits.block_size),
           fmt::format("one of {}", fmt::join(kBlocks, ", ")));
  }
}

}  // namespace plait::vllm
