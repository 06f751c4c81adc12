#include "serving/capacity.h"

#include <algorithm>
#include <limits>

namespace plait {
namespace {

/// Layers of the stage whose keys and values are in its device's memory.
KeptLayers layers_on(const ServedModel& s, std::size_t stage) {
  const LayerMap& map = s.layout.map;
  KeptLayers out{.all = 0, .windowed = 0, .window = s.model.attention_window};
  if (map.cache_on_host) return out;
  for (std::size_t l = 0; l < map.layers.size(); ++l) {
    const LayerPlace& p = map.layers[l];
    if (p.stage != static_cast<std::int32_t>(stage) || p.residence == Residence::kProcessor) {
      continue;
    }
    ++(s.model.has_window(static_cast<std::int64_t>(l)) ? out.windowed : out.all);
  }
  return out;
}

StageRoom room_on(const ServedModel& s, const Plan& plan, std::size_t stage,
                  const EngineLimits& limits, const FrameworkMemory& framework) {
  StageRoom room;
  room.use = stage_use(plan, stage, s.cluster, s.placement, framework, s.costs.kernels);
  const auto memory = static_cast<double>(s.cluster.kind(room.use.kind).device.memory.value);
  const Bytes usable(static_cast<std::int64_t>(memory * limits.memory_utilization));
  room.cache = std::max(usable - room.use.bytes(), Bytes(0));
  const std::int64_t tp = s.layout.mesh[Axis::kTp];
  room.kept = layers_on(s, stage);
  room.bytes_per_token = kv_bytes_per_token(s.model, s.precision, tp) * room.kept.layers();
  if (room.bytes_per_token.value > 0) {
    const std::int64_t block = limits.block_size * room.bytes_per_token.value;
    room.tokens = room.cache.value / block * limits.block_size;
  }
  return room;
}

}  // namespace

double CacheCapacity::concurrency(const EngineLimits& limits) const {
  const std::int64_t each =
      kept.most_blocks(limits.max_context, limits.max_tokens, limits.block_size);
  return each > 0 ? static_cast<double>(blocks) / static_cast<double>(each) : 0;
}

bool CacheCapacity::holds(const EngineLimits& limits, std::int64_t sequences) const {
  if (kept.windowed == 0) return tokens >= sequences * limits.max_context;
  return blocks >=
         sequences * kept.most_blocks(limits.max_context, limits.max_tokens, limits.block_size);
}

Step largest_step(const EngineLimits& limits) {
  const std::int64_t longest =
      std::max<std::int64_t>(1, std::min(limits.max_context, limits.max_tokens));
  const std::int64_t prompts = std::max<std::int64_t>(1, limits.max_tokens / longest);
  const std::int64_t tokens = limits.max_tokens / prompts;
  return {{prompts, tokens, tokens}, {}, std::min(limits.max_sequences, limits.max_tokens)};
}

CacheCapacity cache_capacity(const ServedModel& s, const EngineLimits& limits,
                             const FrameworkMemory& framework) {
  const Plan plan =
      make_serving_plan(s.model, largest_step(limits), s.precision, s.layout, /*cache_tokens=*/1);
  CacheCapacity out;
  // Where no device holds any of the cache, host memory does, which is not counted here.
  out.tokens = std::numeric_limits<std::int64_t>::max();
  for (std::size_t stage = 0; stage < plan.programs.size(); ++stage) {
    out.stages.push_back(room_on(s, plan, stage, limits, framework));
    const StageRoom& room = out.stages.back();
    if (room.bytes_per_token.value == 0 || room.tokens >= out.tokens) continue;
    out.tokens = room.tokens;
    if (room.kept.windowed > 0) out.kept = room.kept;
  }
  if (out.tokens == std::numeric_limits<std::int64_t>::max()) {
    out.tokens = limits.max_sequences * limits.max_context;
  }
  out.blocks = out.tokens / limits.block_size * out.kept.layers();
  return out;
}

}  // namespace plait
