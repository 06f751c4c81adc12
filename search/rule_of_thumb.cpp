#include "search/rule_of_thumb.h"

#include <algorithm>
#include <limits>

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
  std::vector<Layout> out;
  std::int32_t tp = 1;  // the most that a node has
  const SpaceOf of{space, s.model, s.workload, s.cluster.world_size(), {}};
  for (const Layout& l : all_layouts(of)) {
    const bool state_is_sharded = l.zero_stage == (l.dp > 1 ? 1 : 0);
    const bool shards_sequence = l.sequence_parallel == (l.tp > 1);
    if (l.tp > s.cluster.devices_per_node || !state_is_sharded || !shards_sequence) continue;
    tp = std::max(tp, l.tp);
    out.push_back(l);
  }
  std::erase_if(out, [tp](const Layout& l) { return l.tp != tp; });
  std::ranges::stable_sort(out, {}, &Layout::pp);
  return out;
}

}  // namespace

std::optional<RuleOfThumb> rule_of_thumb(const Scenario& s, const CostModel& costs) {
  const Recompute least = s.workload.flash_attention ? Recompute::kNone : Recompute::kSelective;
  Bounds bounds(s, costs);
  for (const Recompute recompute : {least, Recompute::kFull}) {
    const std::vector<Layout> all = candidates(s, recompute);
    bounds.prepare(all, 1);
    for (const Layout& l : all) {
      const std::optional<LowerBound> bound = bounds(l);
      if (!bound || bound->memory > most_memory(s.cluster)) continue;
      const auto result = evaluate(s, costs, l, std::numeric_limits<SimTime>::max());
      if (result && result->fits()) return RuleOfThumb{l, *result};
    }
  }
  return std::nullopt;
}

}  // namespace plait
