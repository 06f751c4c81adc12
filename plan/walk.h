#pragma once
// The flat op list of one rank, without building it: the blocks of its calls, one after the other.

#include <concepts>
#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace plait {

/// visit(flat index, call, op) for every op of one rank of `stage`, in issue order; or
/// visit(call, op).
template <class Visit>
void for_each_op(const Plan& plan, std::size_t stage, Visit&& visit) {
  [[maybe_unused]] std::int64_t flat = 0;
  for (const Call& call : plan.programs[stage].calls) {
    for (const Op& op : plan.blocks[call.block].ops) {
      if constexpr (std::invocable<Visit&, const Call&, const Op&>) {
        visit(call, op);
      } else {
        visit(flat++, call, op);
      }
    }
  }
}

/// How often one rank of `stage` runs each block; one entry per block of the plan.
inline std::vector<std::int64_t> runs_of_blocks(const Plan& plan, std::size_t stage) {
  std::vector<std::int64_t> runs(plan.blocks.size(), 0);
  for (const Call& call : plan.programs[stage].calls) ++runs[call.block];
  return runs;
}

}  // namespace plait
