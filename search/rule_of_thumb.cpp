#include "search/rule_of_thumb.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "search/bounds.h"
#include "search/space.h"

namespace plait {
namespace {

/// Layouts of the rule, fewest stages first.
std::vector<Layout> candidates(const Scenario& s, Recompute recompute) {
  Space space;
  space.cp = space.fsdp = space.micro_batch = {1};
  space.zero_stage = {0, 1};
  space.schedule = {Schedule::k1f1b};
  space.recompute = {recompute};
  const bool mixture = s.model.experts > 0;
  std::int32_t Layout::*within_node = mixture ? &Layout::ep : &Layout::tp;
  (mixture ? space.tp : space.ep) = {1};
  std::vector<Layout> out;
  std::int32_t most = 1;  // that a node has
  SpaceOf of{space, s.model, s.workload, s.cluster.world_size()};
  of.strategy.expert_axes = s.strategy.expert_axes;
  of.strategy.expert_tp = s.strategy.expert_tp;
  for (const Layout& l : all_layouts(of)) {
    const bool state_is_sharded = l.zero_stage == (l.replicas() > 1 ? 1 : 0);
    const bool shards_sequence = l.sequence_parallel == (l.tp > 1);
    const std::int32_t size = l.*within_node;
    if (size > s.cluster.devices_per_node || !state_is_sharded || !shards_sequence) continue;
    most = std::max(most, size);
    out.push_back(l);
  }
  std::erase_if(out, [&](const Layout& l) { return l.*within_node != most; });
  std::ranges::stable_sort(out, {}, &Layout::pp);
  return out;
}

}  // namespace

std::optional<RuleOfThumb> rule_of_thumb(const Scenario& s, const CostModel& costs) {
  const Recompute least = s.workload.flash_attention ? Recompute::kNone : Recompute::kSelective;
  Bounds bounds(s, costs);
  for (const Recompute recompute : {least, Recompute::kFull}) {
    for (const Layout& l : candidates(s, recompute)) {
      bounds.prepare_memory(std::span(&l, 1), std::array{0U}, 1);
      Bounds::Recent recent;
      const std::optional<Bytes> memory = bounds.memory(l, recent);
      if (!memory || *memory > most_memory(s.cluster)) continue;
      const auto result = evaluate(s, costs, l, std::numeric_limits<SimTime>::max());
      if (result && result->fits()) return RuleOfThumb{l, *result};
    }
  }
  return std::nullopt;
}

}  // namespace plait
