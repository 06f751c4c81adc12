#include "serving/capacity.h"

#include <algorithm>
#include <limits>

namespace plait {
namespace {

/// What vLLM's profiling run holds when it samples from the last token of each sequence, by top-k
/// and top-p, which sort (vllm/v1/worker/gpu_model_runner.py, profile_run and _dummy_sampler_run):
/// bytes a sequence and entry of the vocabulary. Logits are 2 + 4 of them, as in the plan. Measured
/// peaks of 4.76, 5.56 and 7.38 GiB with 1,024 sequences and vocabularies of 128,256, 151,936 and
/// 201,088 are 38.9, 38.4 and 38.5 (llm-d-benchmark, config_explorer/
/// empirical-vllm-memory-results.md).
constexpr std::int64_t kSamplerBytes = 38;

/// As far as it exceeds the activations of the largest step.
Bytes sampler_beyond(const ServedModel& s, const EngineLimits& limits, const StageMemory& live) {
  const std::int64_t sequences = std::min(limits.max_sequences, limits.max_tokens);
  const Bytes all(kSamplerBytes * sequences * s.model.vocab);
  const Bytes there = live.by_class[static_cast<std::size_t>(TensorClass::kActivation)];
  return std::max(all - there, Bytes(0));
}

/// vLLM counts what its tensors took at their most, and nothing that the allocator holds beside
/// them (vllm/utils/mem_utils.py, memory_profiling); a fraction of the user's own stays.
FrameworkMemory counted_by(ServingEngine engine, FrameworkMemory memory) {
  const bool usual = memory.fragmentation == FrameworkMemory().fragmentation;
  if (engine == ServingEngine::kVllm && usual) memory.fragmentation = 0;
  return memory;
}

StageRoom room_on(const ServedModel& s, const Plan& plan, std::size_t stage,
                  const EngineLimits& limits, const FrameworkMemory& framework,
                  const std::optional<Drafter>& drafter) {
  StageRoom room;
  room.use = stage_use(plan, stage, s.cluster, s.placement, counted_by(limits.engine, framework),
                       s.costs.kernels);
  if (drafter) room.use.overheads.push_back({"draft_weights", drafter->weights, "the drafter's"});
  const bool samples = limits.engine == ServingEngine::kVllm && stage + 1 == plan.programs.size();
  if (samples) {
    room.use.overheads.push_back({"sampler", sampler_beyond(s, limits, room.use.live),
                                  "vLLM's profiling run sorts the logits of max_num_seqs"});
  }
  const auto memory = static_cast<double>(s.cluster.kind(room.use.kind).device.memory.value);
  const Bytes usable(static_cast<std::int64_t>(memory * limits.memory_utilization));
  room.cache = std::max(usable - room.use.bytes(), Bytes(0));
  const std::int64_t tp = s.layout.mesh[Axis::kTp];
  room.kept = kept_layers(s, stage, false);
  const Bytes token = kv_bytes_per_token(s.model, s.precision, tp);
  const Bytes state = state_bytes_per_sequence(s.model, s.precision, tp);
  room.bytes_per_token = token * (room.kept.all + room.kept.windowed);
  room.state_bytes = state * room.kept.states;
  const bool attends = s.model.attention_layers() > 0;
  room.block_bytes = (attends ? token * limits.block_size : state) * room.kept.layers();
  if (drafter) {
    room.bytes_per_token += drafter->bytes_per_token;
    room.block_bytes += drafter->bytes_per_token * limits.block_size;
  }
  if (room.block_bytes.value > 0) {
    room.tokens = room.cache.value / room.block_bytes.value * limits.block_size;
  }
  return room;
}

/// Sequences as long as may be that a pool of cache_tokens is for.
std::int64_t pooled(const EngineLimits& limits) {
  return std::max<std::int64_t>(
      1, limits.cache_tokens / std::max<std::int64_t>(1, limits.max_context));
}

/// Blocks of a pool that is stated, where layers keep unlike much: as large a part of a sequence's
/// as its tokens are of max_context; of llama.cpp, whose pool is dealt to slots, whole sequences.
double stated_blocks(const KeptLayers& kept, const EngineLimits& limits) {
  const auto each = static_cast<double>(
      kept.most_blocks(limits.max_context, limits.max_tokens, limits.block_size));
  if (limits.engine == ServingEngine::kLlamaCpp) return static_cast<double>(pooled(limits)) * each;
  const auto longest = static_cast<double>(std::max<std::int64_t>(1, limits.max_context));
  return static_cast<double>(limits.cache_tokens) / longest * each;
}

/// A pool that is stated is no larger than that, whatever memory leaves.
void limit(CacheCapacity& c, const EngineLimits& limits) {
  if (limits.cache_tokens == 0) return;
  if (c.kept.differ()) {
    const double blocks = stated_blocks(c.kept, limits);
    if (blocks < static_cast<double>(c.blocks)) c.blocks = static_cast<std::int64_t>(blocks);
  } else {
    c.blocks =
        std::min(c.blocks, ceil_div(limits.cache_tokens, limits.block_size) * c.kept.layers());
  }
  c.tokens = std::min(c.tokens, limits.cache_tokens);
}

/// Sequences of max_context tokens that layers with room for `tokens` each keep.
double longest_in(std::int64_t tokens, const KeptLayers& kept, const EngineLimits& limits) {
  const std::int64_t blocks = tokens / limits.block_size * kept.layers();
  const std::int64_t each =
      kept.most_blocks(limits.max_context, limits.max_tokens, limits.block_size);
  return each > 0 ? static_cast<double>(blocks) / static_cast<double>(each)
                  : std::numeric_limits<double>::infinity();
}

/// Keys and values of the processor's layers have room for no more tokens than the devices'.
void limit_by_host(CacheCapacity& c, const ServedModel& s, const Plan& plan,
                   const EngineLimits& limits) {
  c.host = host_room(s, plan, limits, limits.cache_tokens > 0 ? pooled(limits) : 1);
  if (!c.host || c.host->use.capacity.value == 0) return;
  const bool caches = c.host->kept.layers() > 0;
  if (caches && c.host->tokens < c.tokens) {
    c.tokens = c.host->tokens, c.host_decides = true;
    c.kept = c.host->kept.differ() ? c.host->kept : KeptLayers{};
  }
}

}  // namespace

double CacheCapacity::concurrency(const EngineLimits& limits) const {
  const std::int64_t each =
      kept.most_blocks(limits.max_context, limits.max_tokens, limits.block_size);
  return each > 0 ? static_cast<double>(blocks) / static_cast<double>(each) : 0;
}

bool CacheCapacity::lacks_host_memory() const {
  return host && host->is_short() && (!host->mapped || host->needed > host->use.capacity);
}

bool CacheCapacity::lacks_by_choice(const EngineLimits& limits) const {
  return !holds(limits) && tokens < limits.max_context && room >= limits.max_context;
}

bool CacheCapacity::holds(const EngineLimits& limits, std::int64_t sequences) const {
  if (lacks_host_memory()) return false;
  if (limits.cache_tokens > 0) sequences = pooled(limits);
  if (!kept.differ()) return tokens >= sequences * limits.max_context;
  return blocks >=
         sequences * kept.most_blocks(limits.max_context, limits.max_tokens, limits.block_size);
}

EngineLimits with_blocks_of_states(EngineLimits limits, const ServedModel& s) {
  const std::int64_t tp = s.layout.mesh[Axis::kTp];
  const std::int64_t state = state_bytes_per_sequence(s.model, s.precision, tp).value;
  if (state == 0) return limits;
  if (s.model.attention_layers() == 0) {
    limits.block_size = std::max<std::int64_t>(1, limits.max_context);
    return limits;
  }
  constexpr std::int64_t kTokensOfKernels = 16;  // whose multiples attention's kernels take
  const std::int64_t step = kTokensOfKernels * kv_bytes_per_token(s.model, s.precision, tp).value;
  limits.block_size = std::max(limits.block_size, kTokensOfKernels * ceil_div(state, step));
  return limits;
}

Step largest_step(const EngineLimits& limits) {
  const std::int64_t longest =
      std::max<std::int64_t>(1, std::min(limits.max_context, limits.max_tokens));
  const std::int64_t prompts = std::max<std::int64_t>(1, limits.max_tokens / longest);
  const std::int64_t tokens = limits.max_tokens / prompts;
  return {{prompts, tokens, tokens}, {}, std::min(limits.max_sequences, limits.max_tokens)};
}

CacheCapacity cache_capacity(const ServedModel& s, const EngineLimits& limits,
                             const FrameworkMemory& framework,
                             const std::optional<Drafter>& drafter) {
  const Plan plan =
      make_serving_plan(s.model, largest_step(limits), s.precision, s.layout, /*cache_tokens=*/1);
  CacheCapacity out;
  out.tokens = std::numeric_limits<std::int64_t>::max();
  for (std::size_t stage = 0; stage < plan.programs.size(); ++stage) {
    out.stages.push_back(room_on(s, plan, stage, limits, framework, drafter));
    const StageRoom& room = out.stages.back();
    const bool states = s.model.recurrent_layers() > 0;
    const bool first = out.tokens == std::numeric_limits<std::int64_t>::max();
    const bool fewer = first || !states ? room.tokens < out.tokens
                                        : longest_in(room.tokens, room.kept, limits) <
                                              longest_in(out.tokens, out.kept, limits);
    if (room.block_bytes.value == 0 || !fewer) continue;
    out.tokens = room.tokens, out.tightest = stage;
    if (states || room.kept.differ()) out.kept = room.kept;
  }
  if (out.tokens == std::numeric_limits<std::int64_t>::max()) {
    out.tokens = limits.max_sequences * limits.max_context;
  }
  limit_by_host(out, s, plan, limits);
  out.blocks = out.tokens / limits.block_size * out.kept.layers();
  out.room = out.tokens;
  limit(out, limits);
  return out;
}

}  // namespace plait
