#include "search/evaluate.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "costmodel/stage_use.h"
#include "scenarios/placement.h"
#include "search/few_microbatches.h"

namespace plait {
namespace {

void count_memory(const Plan& plan, const Scenario& s, Evaluation& out) {
  bool first = true;
  for (const StageUse& use : stage_uses(plan, s.cluster, s.placement, s.memory, s.kernels)) {
    const Bytes room = s.cluster.kind(use.kind).device.memory - use.bytes();
    out.memory = std::max(out.memory, use.bytes());
    out.room = std::exchange(first, false) ? room : std::min(out.room, room);
  }
}

}  // namespace

Scenario with_layout(const Scenario& scenario, const Layout& layout) {
  Scenario out = scenario;
  out.strategy = strategy_of(layout, scenario.strategy);
  out.workload.micro_batch = layout.micro_batch;
  return out;
}

std::optional<Evaluation> evaluate(const Scenario& scenario, const CostModel& costs,
                                   const Layout& layout, SimTime limit) {
  const Scenario s = with_layout(scenario, layout);
  try {
    Evaluation out;
    const std::optional<SimTime> step = step_of_few(s, costs);
    if (step && *step > limit) return Evaluation{*step, {}, {}};
    const Plan plan = make_plan(s.model, s.workload, s.strategy);
    out.step = step ? *step : step_of_all(plan, s, costs);
    if (out.step <= limit) count_memory(plan, s, out);
    return out;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace plait
