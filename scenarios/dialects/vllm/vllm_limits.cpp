#include "scenarios/dialects/vllm/vllm_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "model/presets.h"
#include "plan/refusal.h"
#include "scenarios/ampere.h"
#include "scenarios/dialects/shell/script_variables.h"
#include "scenarios/dialects/vllm/vllm_integers.h"

namespace plait::vllm {
namespace {

/// vllm/config/cache.py, BlockSize.
constexpr std::int64_t kBlocks[] = {1, 8, 16, 32, 64, 128, 256};

/// vllm/config/model.py, verify_with_parallel_config. Layers of a hybrid may have none.
bool shares_heads(const Model& model, std::int64_t tp) { return model.heads % tp == 0; }

}  // namespace

void require_accepted(const EngineLimits& limits, const Model& model, const std::string& path) {
  const auto refuse = [&](const char* key, const std::string& problem, std::string expected) {
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
  // vllm/v1/core/kv_cache_utils.py, get_kv_cache_configs, since pull request 41069.
  const bool has_room = limits.cache_tokens == 0 || limits.cache_tokens >= limits.max_context;
  if (!has_room && keeps_all_tokens(model)) {
    refuse("kv_cache_tokens",
           fmt::format("a cache of {} tokens where a sequence may have {}", limits.cache_tokens,
                       limits.max_context),
           fmt::format("at least max_model_len = {}", limits.max_context));
  }
  if (std::ranges::find(kBlocks, limits.block_size) == std::end(kBlocks)) {
    refuse("block_size", fmt::format("blocks of {} tokens", limits.block_size),
           fmt::format("one of {}", fmt::join(kBlocks, ", ")));
  }
}

void require_even_heads(const Model& model, std::int64_t tp, const std::string& path) {
  if (shares_heads(model, tp)) return;
  throw refusal("D011",
                fmt::format("vLLM does not start with {} heads on {} ranks", model.heads, tp), path,
                fmt::format("a divisor of {}", model.heads), "change " + path);
}

void require_device(const Scenario& s) {
  const bool bf16 = s.serving && s.serving->precision.activations == DType::kBf16;
  if (!bf16 || !predates_ampere(s.cluster.device)) return;
  throw refusal("D011",
                fmt::format("vLLM does not start in bf16 on {}, of compute capability {}.{}",
                            s.cluster.device.name, s.cluster.device.compute_capability / 10,
                            s.cluster.device.compute_capability % 10),
                "serving.dtype", "fp16 or fp32", "--set serving.dtype=fp16");
}

void require_visible_device(const std::string& script, const std::string& file) {
  const std::optional<VisibleDevices> seen = visible_devices(script, "vllm");
  if (!seen || seen->count > 0) return;
  throw InputError({"D006",
                    "CUDA_VISIBLE_DEVICES names no device: vLLM on the processor",
                    {file, seen->line, 0, "CUDA_VISIBLE_DEVICES"},
                    "a GPU at least",
                    "name devices, CUDA_VISIBLE_DEVICES=0,1, or leave it out"});
}

void require_accepted(Arguments& args, const NamedModel& named) {
  const char *batch = "--max-num-batched-tokens", *sequences = "--max-num-seqs",
             *length = "--max-model-len", *tp = "--tensor-parallel-size";
  const auto tokens = readable_integer(args, batch), many = readable_integer(args, sequences);
  if (tokens && many && *tokens < *many) {
    args.contradiction(batch, fmt::format("{}, which is more", sequences));
  }
  const bool whole = args.flag("--no-enable-chunked-prefill") && !is_automatic(args, length);
  const auto longest = whole ? readable_integer(args, length) : std::nullopt;
  if (tokens && longest && *tokens < *longest) {
    args.contradiction(batch, fmt::format("{}, which is more, where prompts are not cut", length));
  }
  const Model* model = find_preset(named.preset);
  const std::int64_t ranks = args.integer(tp).value_or(1);
  if (model != nullptr && !shares_heads(*model, ranks)) {
    args.contradiction(tp, fmt::format("the {} heads of {}", model->heads, named.name),
                       fmt::format("choose a divisor of {}", model->heads));
  }
}

}  // namespace plait::vllm
