#include "prediction/planned_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "plan/places.h"
#include "plan/validate.h"
#include "prediction/costs.h"
#include "search/few_microbatches.h"
#include "sim/simulate.h"
#include "topologies/placement.h"

namespace plait {
namespace {

Plan plan_of(const Scenario& s, std::int64_t microbatches) {
  return make_plan(s.model, with_microbatches(s, microbatches), s.strategy);
}

/// Microbatches of each replica; 0: the batch is not divided into them.
std::int64_t microbatches_of(const Scenario& s) {
  const std::int64_t per_pass = s.strategy.replicas() * s.workload.micro_batch;
  return s.workload.global_batch % per_pass == 0 ? s.workload.global_batch / per_pass : 0;
}

/// Tensors of a plan that takes the batch at once have far fewer bytes than 2^63.
bool is_countable(const Model& m, const Workload& w) {
  constexpr double kMost = 1e17;  // elements
  const auto length = static_cast<double>(w.sequence_length);
  const double keys = w.flash_attention ? 0 : length;  // of a query, whose scores are a tensor
  const double widest = static_cast<double>(m.vocab + m.hidden) +
                        static_cast<double>(m.heads) * (keys + static_cast<double>(m.head_dim)) +
                        static_cast<double>((m.experts_per_token + 1) * m.ffn_hidden);
  return static_cast<double>(w.global_batch) * length * widest < kMost;
}

/// The plan for one device that takes the batch at once. Nothing where a step's work depends on its
/// layout: slots of experts are rounded up in each microbatch.
std::optional<Plan> on_one_device(const Scenario& s) {
  Workload w = s.workload;
  if (w.capacity_factor > 0 || !is_countable(s.model, w)) return std::nullopt;
  w.micro_batch = w.global_batch;
  try {
    return make_plan(s.model, w, Strategy{});
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Runs of blocks in the step, by those in two plans of which the second has a period more.
void add_periods(StepCounts& counts, const StepCounts& with_one_more, std::int64_t periods) {
  for (std::size_t s = 0; s < counts.runs.size(); ++s) {
    for (std::size_t b = 0; b < counts.runs[s].size(); ++b) {
      std::int64_t& runs = counts.runs[s][b];
      runs += periods * (with_one_more.runs[s][b] - runs);
    }
  }
}

/// Tokens and FLOPs of the step. False where they are those of the plan times its share of the
/// microbatches, to rounding errors.
bool count_work(const Scenario& s, const Plan& few, StepCounts& counts) {
  if (const std::optional<Plan> all = on_one_device(s)) {
    counts.tokens = all->tokens_per_step;
    counts.model_flops = all->model_flops, counts.unneeded_flops = all->unneeded_flops;
    return true;
  }
  const double times =
      static_cast<double>(counts.microbatches) / static_cast<double>(few.microbatches);
  counts.tokens = few.tokens_per_step / few.microbatches * counts.microbatches;
  counts.model_flops *= times, counts.unneeded_flops *= times;
  return false;
}

/// So few that planning them takes no time beside planning all.
std::optional<Plan> far_shorter_plan(const Scenario& s) {
  constexpr std::int64_t kPeriods = 64, kMany = 16;  // times as many are worth it
  const std::int64_t period = period_of(s.strategy), all = microbatches_of(s);
  if (period == 0 || s.strategy.offload.any()) return std::nullopt;
  const std::int64_t few = kPeriods * period + all % period;
  if (all < kMany * few) return std::nullopt;
  try {
    return plan_of(s, few);
  } catch (const InputError&) {
    return std::nullopt;  // the plan of all says of its own numbers what is wrong
  }
}

/// Kinds of nodes that the ranks of each stage are on.
std::vector<std::set<std::size_t>> kinds_of_stages(const Plan& plan, const Scenario& s) {
  std::vector<std::set<std::size_t>> out(plan.programs.size(), {0});
  if (s.cluster.kinds() == 1) return out;
  out.assign(plan.programs.size(), {});
  for (std::int64_t rank = 0; rank < rank_count(plan); ++rank) {
    const auto stage = static_cast<std::size_t>(stage_of_rank(plan, rank));
    out[stage].insert(s.cluster.kind_of(device_of(rank, s.placement)));
  }
  return out;
}

/// Each op has a time on the devices that it runs on. Throws InputError C005 for a number format
/// that they have not.
void require_formats(const Plan& plan, const Scenario& s, const CostModel& costs) {
  std::set<std::pair<BlockId, std::size_t>> seen;
  const auto kinds = kinds_of_stages(plan, s);
  for (std::size_t stage = 0; stage < plan.programs.size(); ++stage) {
    for (const Call& call : plan.programs[stage].calls) {
      for (const std::size_t kind : kinds[stage]) {
        if (!seen.insert({call.block, kind}).second) continue;
        for (const Op& op : plan.blocks[call.block].ops) {
          const auto* body = std::get_if<Compute>(&op.body);
          if (body == nullptr || runs_on_processor(plan, op)) continue;
          costs.compute(*body, s.cluster.kind(kind).device);
        }
      }
    }
  }
}

}  // namespace

PlannedStep whole_step(const Scenario& s) {
  require_training(s);
  PlannedStep out;
  out.plan = located(s, [&] { return make_plan(s.model, s.workload, s.strategy); });
  out.counts = counts_of(out.plan);
  return out;
}

std::optional<PlannedStep> longer_step(const Scenario& s, Plan few) {
  const auto leaves = [](const Tensor& t) { return t.place != Place::kDevice; };
  if (std::ranges::any_of(few.tensors, leaves)) return std::nullopt;
  const std::int64_t period = period_of(s.strategy);
  const Plan more = plan_of(s, few.microbatches + period);
  if (more.blocks.size() != few.blocks.size()) return std::nullopt;
  PlannedStep out;
  out.further = microbatches_of(s) - few.microbatches;
  out.counts = counts_of(few);
  add_periods(out.counts, counts_of(more), out.further / period);
  out.counts.microbatches += out.further;
  out.exact = count_work(s, few, out.counts);
  out.plan = std::move(few);
  return out;
}

PlannedStep planned_step(const Scenario& s) {
  require_training(s);
  std::optional<Plan> few = far_shorter_plan(s);
  std::optional<PlannedStep> out = few ? longer_step(s, std::move(*few)) : std::nullopt;
  return out ? std::move(*out) : whole_step(s);
}

void require_sound(const Plan& plan) {
  const std::vector<PlanFault> faults = validate(plan);
  if (faults.empty()) return;
  throw InternalError(fmt::format("the plan has {} faults; the first is {}: {}", faults.size(),
                                  code_of(faults.front().kind), faults.front().text));
}

void require_machine(const Plan& plan, const Scenario& s) {
  const CostModel costs = costs_of(s);
  located(s, [&] {
    require_described(plan, costs.machine);
    require_formats(plan, s, costs);
  });
}

std::vector<StageUse> memory_of(const Plan& plan, const Scenario& s, bool curve) {
  return stage_uses(plan, s.cluster, s.placement, s.memory, s.kernels, curve);
}

std::vector<StageUse> memory_of(const PlannedStep& step, const Scenario& s) {
  if (step.further == 0) return memory_of(step.plan, s);
  auto told = memory_of_longer(step.plan, s, step.further);
  return told ? std::move(*told) : memory_of(whole_step(s).plan, s);
}

std::optional<std::vector<StageUse>> memory_of_longer(const Plan& few, const Scenario& s,
                                                      std::int64_t further) {
  return stage_uses_of_longer(few, s.cluster, s.placement, s.memory, s.kernels, further);
}

NodeUse node_of(const Plan& plan, const Scenario& s) {
  return node_use(plan, s.cluster, s.placement, s.processor.memory);
}

}  // namespace plait
