#include "serving/host_room.h"

#include <algorithm>

#include "plan/places.h"

namespace plait {

KeptLayers kept_layers(const ServedModel& s, std::size_t stage, bool on_host) {
  const LayerMap& map = s.layout.map;
  KeptLayers out{.all = 0, .windowed = 0, .window = s.model.attention_window};
  for (std::size_t l = 0; l < map.layers.size(); ++l) {
    const LayerPlace& p = map.layers[l];
    const bool here = map.cache_on_host || p.residence == Residence::kProcessor;
    if (p.stage != static_cast<std::int32_t>(stage) || here != on_host) continue;
    const auto layer = static_cast<std::int64_t>(l);
    const Mixer mixer = s.model.parts_of(layer).mixer;
    if (mixer == Mixer::kNone) continue;
    const bool attends = mixer == Mixer::kAttention;
    ++(!attends ? out.states : s.model.has_window(layer) ? out.windowed : out.all);
  }
  return out;
}

std::optional<HostRoom> host_room(const ServedModel& s, const Plan& plan,
                                  const EngineLimits& limits, std::int64_t sequences) {
  HostRoom out;
  out.use = node_use(plan, s.cluster, s.placement, s.costs.machine.processor.memory);
  if (out.use.memory.value == 0) return std::nullopt;
  out.mapped = s.mapped_weights;
  const std::int64_t ranks = std::min(rank_count(plan), s.cluster.devices_per_node);
  const std::int64_t stages = std::ssize(plan.programs), each = rank_count(plan) / stages;
  const std::int64_t token =
      kv_bytes_per_token(s.model, s.precision, s.layout.mesh[Axis::kTp]).value;
  std::int64_t layers = 0, blocks = 0;  // of the node's ranks; of a sequence
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const KeptLayers kept = kept_layers(s, static_cast<std::size_t>(stage), true);
    const std::int64_t here = std::min(each, ranks);
    layers += here * kept.layers();
    blocks += here * kept.most_blocks(limits.max_context, limits.max_tokens, limits.block_size);
    if (stage == 0 || kept.layers() > out.kept.layers()) out.kept = kept;
  }
  out.bytes_per_token = Bytes(token * layers);
  out.needed = Bytes(token * limits.block_size * blocks) * sequences;
  out.cache = out.use.capacity;
  if (!out.mapped || !out.is_short()) {
    out.cache = std::max(out.use.capacity - out.use.memory, Bytes(0));
  }
  const std::int64_t block = out.bytes_per_token.value * limits.block_size;
  if (block > 0) out.tokens = out.cache.value / block * limits.block_size;
  return out;
}

}  // namespace plait
