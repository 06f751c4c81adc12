#pragma once
// A track of a simulated step -> where that rank's device spends it.

#include "model/kernels.h"
#include "plan/plan.h"
#include "plan/timeline.h"
#include "reports/profile/step_profile.h"
#include "topologies/cluster.h"

namespace plait {

/// What can be compared: kinds that names of kernels tell, or also those that operators tell
/// (is_told_by_operators).
enum class KindsTold : std::uint8_t { kByNames, kByOperators };

/// `kernels`: how many kernels the framework runs a product as. `step_s`: of a step that another
/// follows (Report::step_time_s). Without waits for the host: the device is idle meanwhile.
/// By operators, the sum of gradients that a product ends with is a span of its own, of the share
/// that it has of the product on `device`.
StepProfile predicted_profile(const Plan& plan, const Track& track, const Kernels& kernels,
                              double step_s, const Device& device = {},
                              KindsTold told = KindsTold::kByNames);

/// Whether some attention of the stage is not fused.
bool has_unfused_attention(const Plan& plan, std::int64_t stage);

}  // namespace plait
