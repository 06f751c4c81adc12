#include "search/held_fields.h"

#include <algorithm>

#include "scenarios/overrides.h"

namespace plait {
namespace {

bool has_several(const std::vector<std::int64_t>& sizes) {
  return sizes.empty() || std::ranges::any_of(sizes, [](std::int64_t n) { return n > 1; });
}

bool may_be_one(const std::vector<std::int64_t>& sizes) {
  return sizes.empty() || std::ranges::find(sizes, 1) != sizes.end();
}

/// Parameters are sharded in some layout.
bool shards_parameters(const Space& s) {
  if (s.zero_follows_fsdp) return has_several(s.fsdp);
  return s.zero_stage.empty() || std::ranges::find(s.zero_stage, 3) != s.zero_stage.end();
}

}  // namespace

std::vector<HeldField> held_fields(const OpenScenario& open, const Space& space) {
  const Scenario& s = open.scenario;
  const bool replicas = has_several(space.dp) || has_several(space.fsdp);
  const bool shards = shards_parameters(space), cuts_sequences = has_several(space.cp);
  const bool exchanges = s.model.experts > 0 && has_several(space.ep);
  const struct {
    const char* path;
    bool matters;
    const char* otherwise = "";  // where the resolved scenario leaves it out
  } fields[] = {
      {"strategy.fsdp_options.prefetch", shards && space.prefetch.size() < 2},
      {"strategy.keep_weight_shard", shards && space.keep_weight_shard.size() < 2},
      {"strategy.data.overlap", replicas && s.overlap_ends_with.empty()},
      {"strategy.tensor.overlap", has_several(space.tp)},
      {"strategy.context.kind", cuts_sequences && s.model.recurrent_layers() == 0},
      {"strategy.expert_dispatch", exchanges},
      {"strategy.pipeline.exchange_overlap", exchanges && has_several(space.pp)},
      {"workload.loss_pieces", s.framework.empty() && may_be_one(space.tp)},
      {"strategy.offload.optimizer", true, "none"},
      {"strategy.offload.activations", true, "none"},
      {"placement.order", s.cluster.world_size() > s.cluster.devices_per_node},
  };
  std::vector<HeldField> out;
  for (const auto& [path, matters, otherwise] : fields) {
    if (matters) out.push_back({path, resolved_value(s, path).value_or(otherwise)});
  }
  return out;
}

}  // namespace plait
