#include "plan/step_counts.h"

#include "plan/places.h"
#include "plan/walk.h"

namespace plait {

StepCounts counts_of(const Plan& plan) {
  StepCounts out = {
      plan.microbatches, plan.tokens_per_step, plan.model_flops, plan.unneeded_flops, {}};
  for (std::size_t stage = 0; stage < plan.programs.size(); ++stage) {
    out.runs.push_back(runs_of_blocks(plan, stage));
  }
  return out;
}

std::int64_t op_count(const Plan& plan, const std::vector<std::int64_t>& runs) {
  std::int64_t n = 0;
  for (std::size_t b = 0; b < runs.size(); ++b) n += runs[b] * std::ssize(plan.blocks[b].ops);
  return n;
}

std::int64_t op_count(const Plan& plan, const StepCounts& counts, std::size_t stage) {
  return op_count(plan, counts.runs[stage]);
}

std::int64_t op_count(const Plan& plan, const StepCounts& counts) {
  std::int64_t n = 0;
  for (std::size_t s = 0; s < counts.runs.size(); ++s) {
    n += op_count(plan, counts, s) * ranks_of_stage(plan, static_cast<std::int64_t>(s));
  }
  return n;
}

}  // namespace plait
