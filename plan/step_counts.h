#pragma once
// What a step has of everything, as its plan says it; or as it is known of a step that a shorter
// plan stands for.

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace plait {

struct StepCounts {
  std::int64_t microbatches = 0, tokens = 0;  // as in Plan
  Flops model_flops, unneeded_flops;
  /// How often one rank of each stage runs each block of the plan.
  std::vector<std::vector<std::int64_t>> runs;
};

StepCounts counts_of(const Plan& plan);

/// Ops of one rank that runs each block of `plan` so often.
std::int64_t op_count(const Plan& plan, const std::vector<std::int64_t>& runs);

/// Ops of one rank of `stage`, with repetition; of all ranks. Those of a step that is counted like
/// that, with the blocks of `plan`.
std::int64_t op_count(const Plan& plan, const StepCounts& counts, std::size_t stage);
std::int64_t op_count(const Plan& plan, const StepCounts& counts);

}  // namespace plait
