#include "prediction/prediction.h"

#include <optional>
#include <utility>

#include "core/error.h"
#include "plan/steady_step.h"
#include "prediction/calibration_doubts.h"
#include "prediction/costs.h"
#include "prediction/provenance.h"
#include "prediction/training.h"
#include "search/few_microbatches.h"
#include "sim/explain.h"

namespace plait {
namespace {

Report summarized(const Scenario& s, const CostModel& costs, const Plan& plan,
                  const StepCounts& counts, const Simulation& simulation,
                  const Explanation& explanation, StepTimes times,
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
  Report out = summarize(
      {.model = s.model,
       .workload = s.workload,
       .strategy = s.strategy,
       .plan = plan,
       .counts = counts,
       .cluster = s.cluster,
       .times = times,
       .explanation = explanation,
       .memory = memory,
       .collectives = collectives,
       .contention = contention,
       .provenance = provenance_of(plan, counts, s.cluster, costs, simulation.collectives),
       .run = facts,
       .placement = s.placement_words,
       .price_per_device_hour = s.price_per_device_hour,
       .node = node_of(plan, s),
       .calibration = costs.calibration == nullptr ? "" : told_as(*costs.calibration)});
  append(out.run.warnings, doubts_of_kernels(plan, s.cluster, costs));
  append(out.run.warnings, doubts_of_messages(plan, costs));
  append(out.run.warnings, doubts_of_rate(out, costs));
  if (s.training) out.training = training_of(s, plan, counts.tokens, times.step);
  return out;
}

Prediction predict(PlannedStep planned, const Scenario& s, const CostModel& costs,
                   const PredictionOptions& options, const RunFacts& facts) {
  require_sound(planned.plan);
  Prediction p;
  static_cast<PlannedStep&>(p) = std::move(planned);
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
  p.report = summarized(s, costs, p.plan, p.counts, p.simulation, explain(p.plan, p.simulation),
                        {step, timeline.step_time - step}, p.memory, facts);
  return p;
}

/// From few of its microbatches, where they tell it. Of a scenario that cannot be planned, what is
/// wrong with all of them is said.
std::optional<ToldStep> told_step(const Scenario& s, const CostModel& costs) {
  require_training(s);
  if (s.flow_network) return std::nullopt;
  try {
    return step_of_few(s, costs);
  } catch (const InputError& error) {
    whole_step(s);
    throw locate(error, s);
  }
}

}  // namespace

Plan sound_plan(const Scenario& s) {
  Plan plan = whole_step(s).plan;
  require_sound(plan);
  return plan;
}

Prediction predict(const Scenario& s, const PredictionOptions& options, const RunFacts& facts) {
  return predict(s, costs_of(s), options, facts);
}

Prediction predict(const Scenario& s, const CostModel& costs, const PredictionOptions& options,
                   const RunFacts& facts) {
  return predict(whole_step(s), s, costs, options, facts);
}

Reported report_of(const Scenario& s, const CostModel& costs, const RunFacts& facts) {
  std::optional<ToldStep> told = told_step(s, costs);
  if (!told) return predict(whole_step(s), s, costs, {}, facts);
  require_sound(told->few);
  const SimTime hidden = told->run.timeline.step_time - steady_step(told->few, told->run.timeline);
  const Explanation explanation = explain(told->few, told->run, told->further);
  auto memory = memory_of_longer(told->few, s, told->microbatches);
  std::optional<PlannedStep> planned = longer_step(s, std::move(told->few));
  if (planned && !planned->exact) planned.reset();
  Reported out;
  static_cast<PlannedStep&>(out) = planned ? std::move(*planned) : whole_step(s);
  out.memory = memory ? std::move(*memory) : memory_of(out, s);
  out.report = summarized(s, costs, out.plan, out.counts, told->run, explanation,
                          {told->step, hidden}, out.memory, facts);
  return out;
}

Report report_of(const EvaluatedStep& e, const Scenario& s, const CostModel& costs,
                 const RunFacts& facts) {
  require_sound(e.plan);
  return summarized(s, costs, e.plan, counts_of(e.plan), e.run, explain(e.plan, e.run),
                    {e.step, e.run.timeline.step_time - e.step}, e.memory, facts);
}

}  // namespace plait
