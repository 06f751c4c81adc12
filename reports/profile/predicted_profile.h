#pragma once
// A track of a simulated step -> where that rank's device spends it.

#include "model/kernels.h"
#include "plan/plan.h"
#include "plan/timeline.h"
#include "reports/profile/step_profile.h"

namespace plait {

/// `kernels`: how many kernels the framework runs a product as. `step_s`: of a step that another
/// follows (Report::step_time_s). Without waits for the host: the device is idle meanwhile.
StepProfile predicted_profile(const Plan& plan, const Track& track, const Kernels& kernels,
                              double step_s);

/// Whether some attention of the stage is not fused.
bool has_unfused_attention(const Plan& plan, std::int64_t stage);

}  // namespace plait
