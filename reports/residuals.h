#pragma once
// Predicted against measured, op by op and by class of op.

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/timeline.h"

namespace plait {

/// Ops of one kind: "matmul", "all_reduce over dp", "send over pp".
struct ClassResidual {
  std::string name;
  std::int64_t ops = 0;                    // on all tracks
  double measured_s = 0, predicted_s = 0;  // sums of durations; mean over the tracks
  /// Mean |log(predicted / measured)| per op; none where all are too short to compare.
  std::optional<double> mean_log_error;
};

/// Both timelines are of one step and have a track for each rank, in the same order. Classes in the
/// order of their measured time, longest first.
std::vector<ClassResidual> residuals(const Plan& plan, const Timeline& predicted,
                                     const Timeline& measured);

/// The class of an op.
std::string residual_class(const Op& op);

}  // namespace plait
