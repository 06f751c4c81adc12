#include "search/rule_of_thumb.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "search/bounds.h"

namespace plait {
namespace {

template <class T>
bool offers(const std::vector<T>& values, T value) {
  return values.empty() || std::ranges::find(values, value) != values.end();
}

/// The fields that the rule says, within what is offered.
Space rule_in(const Space& offered, bool mixture, Recompute recompute) {
  Space out;
  out.cp = out.fsdp = out.micro_batch = {1};
  (mixture ? out.tp : out.ep) = {1};
  out.zero_stage = {0};
  if (offers(offered.zero_stage, std::int64_t{1})) out.zero_stage.push_back(1);
  out.sequence_parallel = {false};
  if (offers(offered.sequence_parallel, true)) out.sequence_parallel.push_back(true);
  out.schedule = {Schedule::k1f1b};
  out.recompute = {recompute};
  return out;
}

/// State and sequences are sharded wherever they can be.
bool shards_all(const Layout& l, const Space& rule) {
  const bool state = l.zero_stage == (l.replicas() > 1 ? rule.zero_stage.back() : 0);
  return state && l.sequence_parallel == (l.tp > 1 && rule.sequence_parallel.back());
}

/// Layouts of the rule: those that cut the model least come first.
std::vector<Layout> candidates(const Scenario& s, const Space& offered, Recompute recompute) {
  const bool mixture = s.model.experts > 0;
  const Space rule = rule_in(offered, mixture, recompute);
  SpaceOf of{rule, s.model, s.workload, s.cluster.world_size()};
  of.strategy.experts.axes = s.strategy.experts.axes;
  of.strategy.experts.tp = s.strategy.experts.tp;
  std::int32_t Layout::*within_node = mixture ? &Layout::ep : &Layout::tp;
  std::vector<Layout> out;
  std::int32_t most = 1;  // that a node has
  for (const Layout& l : all_layouts(of)) {
    const std::int32_t size = l.*within_node;
    if (size > s.cluster.devices_per_node || !shards_all(l, rule)) continue;
    most = std::max(most, size);
    out.push_back(l);
  }
  std::erase_if(out, [&](const Layout& l) { return l.pp > 1 && l.*within_node != most; });
  std::ranges::stable_sort(out, {}, [&](const Layout& l) { return l.pp * l.*within_node; });
  return out;
}

/// From the least on.
std::vector<Recompute> recomputations(const Scenario& s, const Space& offered) {
  std::vector<Recompute> out = {
      s.workload.flash_attention ? Recompute::kNone : Recompute::kSelective, Recompute::kFull};
  if (!offers(offered.recompute, out.front())) out.front() = Recompute::kNone;
  std::erase_if(out, [&](Recompute r) { return !offers(offered.recompute, r); });
  return out;
}

}  // namespace

std::optional<RuleOfThumb> rule_of_thumb(const Scenario& s, const CostModel& costs,
                                         const Space& offered) {
  Bounds bounds(s, costs);
  for (const Recompute recompute : recomputations(s, offered)) {
    for (const Layout& l : candidates(s, offered, recompute)) {
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
