#include "search/evaluate.h"

#include "core/error.h"
#include "costmodel/memory.h"
#include "plan/steady_step.h"
#include "scenarios/placement.h"

namespace plait {
namespace {

SimTime step_time(const Plan& plan, const Scenario& s, const CostModel& costs) {
  // Only steps that run into one another are read off the timeline.
  const bool record = plan.programs.size() > 1 && !s.workload.gradient_clipping;
  const Simulation run =
      simulate(plan, s.cluster, costs, {.record = record, .placement = s.placement});
  return record ? steady_step(plan, run.timeline) : run.timeline.step_time;
}

/// The stage with the least room left.
void count_memory(const Plan& plan, const Scenario& s, Evaluation& out) {
  for (std::size_t stage = 0; stage < plan.programs.size(); ++stage) {
    const StageMemory live = live_memory(plan, stage);
    for (std::size_t kind = 0; kind < s.cluster.kinds(); ++kind) {
      Bytes bytes = live.peak;
      for (const MemoryItem& item :
           memory_overheads(plan, stage, live, s.cluster, kind, s.memory, s.kernels)) {
        bytes += item.bytes;
      }
      const Bytes capacity = s.cluster.kind(kind).device.memory;
      const bool first = stage == 0 && kind == 0;
      if (!first && capacity - bytes >= out.capacity - out.memory) continue;
      out.memory = bytes, out.capacity = capacity;
    }
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
    const Plan plan = make_plan(s.model, s.workload, s.strategy);
    Evaluation out;
    out.step = step_time(plan, s, costs);
    if (out.step <= limit) count_memory(plan, s, out);
    return out;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace plait
