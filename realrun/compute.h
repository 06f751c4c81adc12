#pragma once
// One compute op on real numbers: operands from the rank's buffers, kernels from kernels/. A
// backend for another device gives the same function.

#include <vector>

#include "model/model.h"
#include "plan/plan.h"
#include "realrun/buffers.h"
#include "realrun/rank.h"
#include "realrun/unit_buffers.h"

namespace plait {

/// What compute needs to know beside the op.
struct RunContext {
  const Plan& plan;
  const Model& model;
  Rank rank;
  std::vector<UnitBuffers> units;
  /// That the loss of a step is the mean over, on all ranks.
  std::int64_t trained_tokens = 0;
  std::int64_t step = 0;  // counts from 1; Adam's bias correction and dropout depend on it
  double learning_rate = 1e-3;
};

/// Executes `op` as it stands in `call`. The operand order is that of plan/op.h. Ops
/// of different streams may be executed by different threads. Results are rounded to the type of
/// their tensor (realrun/rounding.h).
template <class T>
void compute(const RunContext& context, const Operands& operands, const Op& op, const Call& call);

}  // namespace plait
