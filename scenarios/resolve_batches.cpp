#include <algorithm>
#include <string>

#include "core/spelling.h"
#include "scenarios/resolve.h"

namespace plait {
namespace {

struct BatchDefaults {
  std::int64_t tokens, sequences;
};

/// Of vLLM's server (vllm/engine/arg_utils.py, get_batch_defaults, UsageContext.OPENAI_API_SERVER).
BatchDefaults vllm_defaults(const Device& device) {
  constexpr std::int64_t kLarge = std::int64_t{70} << 30;  // bytes, 70 GiB
  const bool is_a100 = lower_case(device.name).find("a100") != std::string::npos;
  const bool large = device.memory.value >= kLarge && !is_a100;
  return large ? BatchDefaults{8192, 1024} : BatchDefaults{2048, 256};
}

BatchDefaults defaults_of(ServingEngine engine, const Device& device) {
  switch (engine) {
    case ServingEngine::kVllm: return vllm_defaults(device);
    case ServingEngine::kTensorRtLlm:
      return {8192, 1024};  // it is told them when it starts
    // llama-server's --ubatch-size and, as --parallel is by itself, slots (common/common.h,
    // n_ubatch; tools/server/server.cpp at 5815cb84).
    case ServingEngine::kLlamaCpp: return {512, 4};
  }
  return {};
}

/// Without chunked prefill a step of vLLM has room for the longest prompt; there are no more
/// sequences than tokens (the same file, _set_default_max_num_seqs_and_batched_tokens_args).
void fill(const Json* own, const Json* shared, const Device& device, EngineLimits& limits) {
  const auto is_stated = [&](const char* key) {
    return (own != nullptr && own->find(key) != nullptr) ||
           (shared != nullptr && shared->find(key) != nullptr);
  };
  const bool vllm = limits.engine == ServingEngine::kVllm;
  const BatchDefaults usual = defaults_of(limits.engine, device);
  if (!is_stated("max_num_batched_tokens")) {
    const bool whole = vllm && !limits.chunked_prefill;
    limits.max_tokens = whole ? std::max(usual.tokens, limits.max_context) : usual.tokens;
  }
  if (!is_stated("max_num_seqs")) {
    limits.max_sequences = std::min(usual.sequences, limits.max_tokens);
  }
}

}  // namespace

void resolve_batches(const Json& serving, const Device& device, Serving& s) {
  const Json* shared = serving.find("engine");
  fill(shared, nullptr, device, s.limits);
  if (!s.disaggregation.any()) return;
  fill(serving.find_path("disaggregated.prefill.engine"), shared, device,
       s.disaggregation.prefill.limits);
  fill(serving.find_path("disaggregated.decode.engine"), shared, device,
       s.disaggregation.decode.limits);
}

}  // namespace plait
