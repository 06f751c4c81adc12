#include "serving/capacity.h"

#include <algorithm>
#include <limits>

namespace plait {
namespace {

/// Layers of the stage whose keys and values are in its device's memory.
std::int64_t layers_on(const LayerMap& map, std::size_t stage) {
  if (map.cache_on_host) return 0;
  return std::ranges::count_if(map.layers, [&](const LayerPlace& p) {
    return p.stage == static_cast<std::int32_t>(stage) && p.residence != Residence::kProcessor;
  });
}

StageRoom room_on(const ServedModel& s, const Plan& plan, std::size_t stage,
                  const EngineLimits& limits, const FrameworkMemory& framework) {
  StageRoom room;
  room.use = stage_use(plan, stage, s.cluster, s.placement, framework, s.costs.kernels);
  const auto memory = static_cast<double>(s.cluster.kind(room.use.kind).device.memory.value);
  const Bytes usable(static_cast<std::int64_t>(memory * limits.memory_utilization));
  room.cache = std::max(usable - room.use.bytes(), Bytes(0));
  const std::int64_t tp = s.layout.mesh[Axis::kTp];
  room.bytes_per_token =
      kv_bytes_per_token(s.model, s.precision, tp) * layers_on(s.layout.map, stage);
  if (room.bytes_per_token.value > 0) {
    const std::int64_t block = limits.block_size * room.bytes_per_token.value;
    room.tokens = room.cache.value / block * limits.block_size;
  }
  return room;
}

}  // namespace

double CacheCapacity::concurrency(std::int64_t tokens_per_request, std::int64_t block_size) const {
  const std::int64_t each = (tokens_per_request + block_size - 1) / block_size;
  return each > 0 ? static_cast<double>(blocks) / static_cast<double>(each) : 0;
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
    if (room.bytes_per_token.value > 0) out.tokens = std::min(out.tokens, room.tokens);
  }
  if (out.tokens == std::numeric_limits<std::int64_t>::max()) {
    out.tokens = limits.max_sequences * limits.max_context;
  }
  out.blocks = out.tokens / limits.block_size;
  return out;
}

}  // namespace plait
