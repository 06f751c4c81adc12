#pragma once
// A trace of torch.profiler -> where its median step went.

#include "reports/profile/step_profile.h"
#include "reports/profile/trace_steps.h"

namespace plait {

struct MeasuredProfile {
  StepProfile step;                // the median one; messages over all whole steps
  std::int64_t number = 0;         // of the median step
  double least_s = 0, most_s = 0;  // of the whole steps
  /// The trace names the operators of most of what kernels' names do not tell.
  bool by_operators = false;
};

MeasuredProfile measured_profile(const KinetoTrace& trace, const TraceSteps& steps);

}  // namespace plait
