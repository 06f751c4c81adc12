#include "search/evaluate.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "costmodel/node_use.h"
#include "scenarios/placement.h"
#include "search/few_microbatches.h"

namespace plait {
namespace {

Evaluation with_memory(SimTime step, const std::vector<StageUse>& uses, const Scenario& s) {
  Evaluation out = {step, {}, {}};
  bool first = true;
  for (const StageUse& use : uses) {
    const Bytes room = s.cluster.kind(use.kind).device.memory - use.bytes();
    out.memory = std::max(out.memory, use.bytes());
    out.room = std::exchange(first, false) ? room : std::min(out.room, room);
  }
  return out;
}

/// What leaves devices has to fit into the memory of their hosts.
void hold_against_hosts(Evaluation& result, const Plan& plan, const Scenario& s) {
  const NodeUse node = node_use(plan, s.cluster, s.placement, s.processor.memory);
  if (!node.fits()) result.room = std::min(result.room, node.capacity - node.memory);
}

bool splits(const Layout& layout, const std::vector<std::string>& sizes) {
  return std::ranges::any_of(settings_of(layout), [&sizes](const Override& set) {
    return set.value != "1" && std::ranges::count(sizes, set.path) > 0;
  });
}

}  // namespace

Scenario with_layout(const Scenario& scenario, const Layout& layout) {
  Scenario out = scenario;
  out.strategy = strategy_of(layout, scenario.strategy);
  out.workload.micro_batch = layout.micro_batch;
  // Bounds may count the overlap, which makes no step longer.
  const std::vector<std::string>& serial = scenario.overlap_ends_with;
  if (!serial.empty() && splits(layout, serial)) out.strategy.data.overlap = false;
  const PlacementRule& rule = scenario.placement_rule;
  if (!rule.any()) return out;
  Placement placement =
      resolve_placement({.order = rule.order, .stages_per_node = rule.stages_per_node},
                        out.strategy.mesh, scenario.cluster.devices_per_node);
  out.placement = std::move(placement.devices);
  out.placement_words = std::move(placement.words);
  return out;
}

Priced price(const Scenario& scenario, const CostModel& costs, const Layout& layout,
             SimTime limit) {
  const Scenario s = with_layout(scenario, layout);
  const std::optional<ToldStep> told = step_of_few(s, costs);
  if (told && told->step > limit) return {{told->step, {}, {}}, nullptr};
  if (told && !s.strategy.offload.any()) {
    const auto uses = stage_uses_of_longer(told->few, s.cluster, s.placement, s.memory, s.kernels,
                                           told->microbatches);
    if (uses) return {with_memory(told->step, *uses, s), nullptr};
  }
  auto all = std::make_shared<EvaluatedStep>();
  all->plan = make_plan(s.model, s.workload, s.strategy);
  if (!told) {
    WholeStep whole = step_of_all(all->plan, s, costs);
    all->run = std::move(whole.run), all->step = whole.step;
  }
  const SimTime step = told ? told->step : all->step;
  if (step > limit) return {{step, {}, {}}, nullptr};
  all->memory = stage_uses(all->plan, s.cluster, s.placement, s.memory, s.kernels);
  Evaluation result = with_memory(step, all->memory, s);
  hold_against_hosts(result, all->plan, s);
  return {result, told ? nullptr : std::move(all)};
}

std::optional<Evaluation> evaluate(const Scenario& scenario, const CostModel& costs,
                                   const Layout& layout, SimTime limit) {
  try {
    return price(scenario, costs, layout, limit).result;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace plait
