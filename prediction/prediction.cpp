#include "prediction/prediction.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/error.h"
#include "plan/steady_step.h"
#include "plan/validate.h"
#include "prediction/costs.h"
#include "prediction/provenance.h"
#include "prediction/training.h"
#include "search/few_microbatches.h"
#include "sim/explain.h"

namespace plait {
namespace {

/// What plans and simulates knows fields, not files: its errors learn here where the field stands.
template <class Work>
auto located(const Scenario& scenario, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const InputError& error) {
    throw locate(error, scenario);
  }
}

Plan unchecked_plan(const Scenario& s) {
  require_training(s);
  return located(s, [&] { return make_plan(s.model, s.workload, s.strategy); });
}

void require_sound(const Plan& plan) {
  const std::vector<PlanFault> faults = validate(plan);
  if (faults.empty()) return;
  throw InternalError(fmt::format("the plan has {} faults; the first is {}: {}", faults.size(),
                                  code_of(faults.front().kind), faults.front().text));
}

Report summarized(const Scenario& s, const CostModel& costs, const Plan& plan,
                  const Simulation& simulation, const Explanation& explanation, StepTimes times,
                  const std::vector<StageUse>& memory, const RunFacts& facts) {
  std::vector<ChosenCollective> collectives;
  for (const CollectiveChoice& c : simulation.collectives) {
    collectives.push_back({c.op, c.group, c.cost});
  }
  std::vector<ContentionLine> contention;
  for (const Contention& c : simulation.contention) {
    contention.push_back({c.link, std::string(name_of(c.link_class)), c.links, c.bandwidth.value,
                          c.traffic, c.with, c.time.value, c.lost.value});
  }
  Report out =
      summarize({.model = s.model,
                 .workload = s.workload,
                 .strategy = s.strategy,
                 .plan = plan,
                 .cluster = s.cluster,
                 .times = times,
                 .explanation = explanation,
                 .memory = memory,
                 .collectives = collectives,
                 .contention = contention,
                 .provenance = provenance_of(plan, s.cluster, costs, simulation.collectives),
                 .run = facts,
                 .placement = s.placement_words,
                 .price_per_device_hour = s.price_per_device_hour,
                 .node = node_of(plan, s)});
  if (s.training) out.training = training_of(s, plan, times.step);
  return out;
}

Prediction predict(Plan plan, const Scenario& s, const CostModel& costs,
                   const PredictionOptions& options, const RunFacts& facts) {
  require_sound(plan);
  Prediction p;
  p.plan = std::move(plan);
  p.simulation = located(s, [&] {
    return simulate(
        p.plan, s.cluster, costs,
        {.network = s.flow_network ? make_network(s.cluster, routing_of(s.cluster)) : nullptr,
         .interference = s.interference,
         .unfold = options.unfold,
         .record = true,
         .placement = s.placement,
         .watch = options.watch});
  });
  const Timeline& timeline = p.simulation.timeline;
  const SimTime step = steady_step(p.plan, timeline);
  p.memory = memory_of(p.plan, s, options.memory_curve);
  p.report = summarized(s, costs, p.plan, p.simulation, explain(p.plan, p.simulation),
                        {step, timeline.step_time - step}, p.memory, facts);
  return p;
}

}  // namespace

Plan sound_plan(const Scenario& s) {
  Plan plan = unchecked_plan(s);
  require_sound(plan);
  return plan;
}

void require_machine(const Plan& plan, const Scenario& s) {
  const CostModel costs = costs_of(s);
  located(s, [&] { require_described(plan, costs.machine); });
}

std::vector<StageUse> memory_of(const Plan& plan, const Scenario& s, bool curve) {
  return stage_uses(plan, s.cluster, s.placement, s.memory, s.kernels, curve);
}

NodeUse node_of(const Plan& plan, const Scenario& s) {
  return node_use(plan, s.cluster, s.placement, s.processor.memory);
}

Prediction predict(const Scenario& s, const PredictionOptions& options, const RunFacts& facts) {
  return predict(s, costs_of(s), options, facts);
}

Prediction predict(const Scenario& s, const CostModel& costs, const PredictionOptions& options,
                   const RunFacts& facts) {
  return predict(unchecked_plan(s), s, costs, options, facts);
}

Reported report_of(const Scenario& s, const CostModel& costs, const RunFacts& facts) {
  Plan plan = unchecked_plan(s);
  std::optional<ToldStep> told;
  if (!s.flow_network) told = located(s, [&] { return step_of_few(s, costs); });
  if (!told) return predict(std::move(plan), s, costs, {}, facts);
  require_sound(told->few);
  const SimTime hidden = told->run.timeline.step_time - steady_step(told->few, told->run.timeline);
  Reported out;
  auto memory = stage_uses_of_longer(told->few, s.cluster, s.placement, s.memory, s.kernels,
                                     told->microbatches);
  out.memory = memory ? std::move(*memory) : memory_of(plan, s);
  out.report = summarized(s, costs, plan, told->run, explain(told->few, told->run, told->further),
                          {told->step, hidden}, out.memory, facts);
  out.plan = std::move(plan);
  return out;
}

Report report_of(const EvaluatedStep& e, const Scenario& s, const CostModel& costs,
                 const RunFacts& facts) {
  require_sound(e.plan);
  return summarized(s, costs, e.plan, e.run, explain(e.plan, e.run),
                    {e.step, e.run.timeline.step_time - e.step}, e.memory, facts);
}

}  // namespace plait
