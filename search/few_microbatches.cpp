#include "search/few_microbatches.h"

#include "plan/schedule.h"
#include "plan/steady_step.h"
#include "search/steady_middle.h"
#include "sim/step_length.h"

namespace plait {
namespace {

/// At first: to fill the stages, to drain them, and some in between.
std::int64_t periods_of(Schedule s) { return splits_backward(s) ? 8 : 6; }

/// Only steps that run into one another are read off the timeline.
bool runs_on(const Plan& plan, const Scenario& s) {
  return plan.programs.size() > 1 && !s.workload.gradient_clipping;
}

SimTime step_of(const Plan& plan, const Scenario& s, const Timeline& timeline) {
  return runs_on(plan, s) ? steady_step(plan, timeline) : timeline.step_time;
}

Plan plan_of(const Scenario& s, std::int64_t microbatches) {
  return make_plan(s.model, with_microbatches(s, microbatches), s.strategy);
}

SimTime with_further(SimTime few, const FurtherPeriods& further, const ToldStep& told) {
  const Seconds all =
      to_seconds(few) + to_seconds(further.time) * static_cast<double>(further.count);
  if (all > to_seconds(kLongestTime))
    refuse_length("one step", all, spent_in(told.few, *told.run.durations));
  return few + further.count * further.time;
}

/// A simulation of few, and the check of it, take about 3/2 of their share of the whole step.
bool worthwhile(std::int64_t few, std::int64_t all) { return 3 * few <= 2 * all; }

}  // namespace

std::int64_t period_of(const Strategy& s) {
  const Schedule schedule = s.pipeline.schedule;
  const bool both_ways = kind_of(schedule).shape == PipelineShape::kBothWays;
  if (is_automatic(schedule) || both_ways || schedule == Schedule::kGpipe) return 0;
  return group_of(s.pipeline, s.mesh[Axis::kPp]);
}

std::int64_t fewest_microbatches(const Strategy& s, std::int64_t all) {
  const std::int64_t later = period_of(s);
  if (later == 0) return all;
  const std::int64_t few = periods_of(s.pipeline.schedule) * later + all % later;
  return worthwhile(few, all) ? few : all;
}

Workload with_microbatches(const Scenario& s, std::int64_t microbatches) {
  Workload out = s.workload;
  out.global_batch = microbatches * s.strategy.replicas() * s.workload.micro_batch;
  return out;
}

std::optional<ToldStep> step_of_few(const Scenario& s, const CostModel& costs) {
  const std::int64_t later = period_of(s.strategy);
  const std::int64_t per_pass = s.strategy.replicas() * s.workload.micro_batch;
  if (later == 0 || s.workload.global_batch % per_pass != 0) return {};
  const std::int64_t all = s.workload.global_batch / per_pass;
  for (std::int64_t periods = periods_of(s.strategy.pipeline.schedule);; periods *= 2) {
    const std::int64_t few = periods * later + all % later;
    if (!worthwhile(few, all)) return {};
    ToldStep out = {0, plan_of(s, few), {}, all - few, {}};
    out.run = simulate(out.few, s.cluster, costs,
                       {.interference = s.interference, .record = true, .placement = s.placement});
    const Plan more = plan_of(s, few + later);
    const SteadyMiddle middle(out.few, out.run, more, later);
    if (!middle.repeats()) return {};
    const auto further = middle.further((all - few) / later);
    if (!further) continue;
    out.step = with_further(step_of(out.few, s, out.run.timeline), *further, out);
    out.further = *further;
    return out;
  }
}

WholeStep step_of_all(const Plan& plan, const Scenario& s, const CostModel& costs) {
  WholeStep out;
  out.run = simulate(plan, s.cluster, costs,
                     {.interference = s.interference, .record = true, .placement = s.placement});
  out.step = step_of(plan, s, out.run.timeline);
  return out;
}

}  // namespace plait
