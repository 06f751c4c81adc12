#include "cli/idle_overrides.h"

#include <fmt/format.h>

#include "core/error.h"

namespace plait {
namespace {

/// False where the other scenario, by the size of its mesh or plan, is another one. It may be far
/// larger: a machine's batch on one node, where it is --set cluster.nodes that is left out.
bool may_be_the_same(const Plan& plan, const Scenario& other) {
  const std::int64_t per_microbatch = other.strategy.replicas() * other.workload.micro_batch;
  const std::int64_t microbatches = other.workload.global_batch / per_microbatch;
  if (plan.mesh.size != other.strategy.mesh.size || plan.microbatches != microbatches) return false;
  const Plan its = make_plan(other.model, other.workload, other.strategy);
  return plan.tokens_per_step == its.tokens_per_step && op_count(plan) == op_count(its);
}

/// Whether the prediction without override `left_out` is the same.
bool has_no_effect(const ScenarioOptions& options, const ScenarioText& text, const Reported& with,
                   bool unfold, std::size_t left_out) {
  std::vector<Override> others = options.overrides();
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
  try {
    const Scenario scenario = parse_scenario(text.text, text.file, others);
    require_training(scenario);
    if (!may_be_the_same(with.plan, scenario)) return false;
    const Report folded = report_of(scenario, costs_of(scenario), {}).report;
    if (folded.step_time_s != with.report.step_time_s) return false;  // unfolding takes long
    return same_prediction(unfold ? predict(scenario, {.unfold = true}, {}).report : folded,
                           with.report);
  } catch (const InputError&) {
    return false;  // it makes the difference between a scenario that can be planned and one that
                   // cannot
  }
}

}  // namespace

std::vector<std::string> idle_overrides(const ScenarioOptions& options, const ScenarioText& text,
                                        const Reported& p, bool unfold) {
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < options.sets.size(); ++i) {
    if (!has_no_effect(options, text, p, unfold, i)) continue;
    warnings.push_back(
        fmt::format("W002: --set {} changes nothing in the result", options.sets[i]));
  }
  return warnings;
}

}  // namespace plait
