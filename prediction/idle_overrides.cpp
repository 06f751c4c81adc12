#include "prediction/idle_overrides.h"

#include "core/error.h"
#include "prediction/costs.h"

namespace plait {
namespace {

/// False where the other scenario, by the size of its mesh or plan, is another one. It may be far
/// larger: a machine's batch on one node, where it is --set cluster.nodes that is left out.
bool may_be_the_same(const PlannedStep& step, const Scenario& other) {
  const std::int64_t per_microbatch = other.strategy.replicas() * other.workload.micro_batch;
  const std::int64_t microbatches = other.workload.global_batch / per_microbatch;
  if (step.plan.mesh.size != other.strategy.mesh.size || step.counts.microbatches != microbatches)
    return false;
  const PlannedStep its = planned_step(other);
  const bool same_tokens = !its.exact || step.counts.tokens == its.counts.tokens;
  return same_tokens && op_count(step.plan, step.counts) == op_count(its.plan, its.counts);
}

/// Whether the prediction without override `left_out` is the same.
bool has_no_effect(std::vector<Override> others, const ScenarioText& text, const Reported& with,
                   bool unfold, std::size_t left_out) {
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
  try {
    const Scenario scenario = parse_scenario(text.text, text.file, others);
    require_training(scenario);
    if (!may_be_the_same(with, scenario)) return false;
    const Report folded = report_of(scenario, costs_of(scenario), {}).report;
    if (folded.step_time_s != with.report.step_time_s) return false;  // unfolding takes long
    if (scenario.name != with.report.run.scenario || folded.model != with.report.model)
      return false;
    return same_prediction(unfold ? predict(scenario, {.unfold = true}, {}).report : folded,
                           with.report);
  } catch (const InputError&) {
    return false;  // it makes the difference between a scenario that can be planned and one that
                   // cannot
  }
}

}  // namespace

std::vector<std::size_t> idle_overrides(const std::vector<Override>& sets, const ScenarioText& text,
                                        const Reported& p, bool unfold) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (has_no_effect(sets, text, p, unfold, i)) out.push_back(i);
  }
  return out;
}

}  // namespace plait
