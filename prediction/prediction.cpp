#include "prediction/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/sha256.h"
#include "costmodel/kernel_features.h"
#include "plait_version.h"
#include "plan/steady_step.h"
#include "plan/validate.h"
#include "prediction/training.h"
#include "search/few_microbatches.h"
#include "sim/explain.h"
#include "topologies/variation.h"

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

bool is_of_processors(const Calibration& c) {
  return !c.transports.empty() || std::ranges::any_of(c.kernels, [](const auto& fit) {
    return is_processors_product(fit.first);
  });
}

/// A calibration is of one device.
void require_its_device(const Calibration& calibration, const Scenario& scenario) {
  const auto refuse = [&](InputError::Text text) {
    throw locate(InputError(std::move(text)), scenario);
  };
  if (!scenario.cluster.others.empty()) {
    refuse({.code = "C012",
            .problem = "a calibration for a cluster of several kinds of nodes",
            .where = {"", 0, 0, "calibration"},
            .expected = "nodes of the kind that was measured, and no others",
            .cure = "remove the calibration, or cluster.other_nodes"});
  }
  const std::string& device = scenario.cluster.device.name;
  // A processor's says none, nor does one of a GPU that the catalogue has not.
  const bool says_none = calibration.device.empty();
  const bool on_gpu = scenario.cluster.device.compute_capability > 0;
  const bool other =
      says_none ? on_gpu && is_of_processors(calibration) : calibration.device != device;
  if (other) {
    refuse({.code = "K006",
            .problem = fmt::format("a calibration of {} for a cluster of {}",
                                   says_none ? calibration.machine : calibration.device, device),
            .where = {"", 0, 0, "calibration"},
            .expected = fmt::format("one of plait calibrate --device {}", device),
            .cure = "remove the calibration, or choose a cluster of the device that was measured"});
  }
}

/// Of the devices that wait for one another: all that train together, or those of one replica of an
/// engine. Where the scenario says itself how fast each is, none is slower in general.
double slowest_of(const Scenario& s) {
  if (s.cluster.jitter > 0) return 1;
  const std::int64_t replicas = s.serving ? s.strategy.mesh[Axis::kDp] : 1;
  return slowest_device(s.cluster.variation, s.cluster.world_size() / replicas);
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

RunFacts run_facts(const Scenario& scenario, const std::string& command_line) {
  RunFacts facts;
  facts.version = kVersion;
  facts.revision = kRevision;
  facts.scenario = scenario.name;
  facts.scenario_sha256 = sha256(scenario.canonical_json);
  facts.command = command_line;
  facts.warnings = scenario.warnings;
  return facts;
}

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

std::shared_ptr<const Calibration> calibration_of(const Scenario& scenario) {
  if (scenario.calibration.empty()) return nullptr;
  return std::make_shared<const Calibration>(load_calibration(scenario.calibration));
}

CostModel costs_of(const Scenario& scenario) {
  return costs_of(scenario, calibration_of(scenario));
}

CostModel costs_of(const Scenario& scenario, std::shared_ptr<const Calibration> calibration) {
  CostModel costs;
  costs.host = scenario.host;
  costs.kernels = scenario.kernels;
  costs.machine = {scenario.processor, scenario.storage_bandwidth, scenario.storage_write_bandwidth,
                   scenario.strategy.offload.bind_cores};
  costs.slowest = slowest_of(scenario);
  if (calibration != nullptr) require_its_device(*calibration, scenario);
  costs.calibration = std::move(calibration);
  return costs;
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
