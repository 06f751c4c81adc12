#pragma once
// Durations of kernels from a calibration.

#include <optional>

#include "costmodel/calibration.h"
#include "costmodel/cost.h"
#include "model/op.h"

namespace plait {

/// Nothing when the op's class was not fitted. The time per call is the launch overhead's; the rest
/// is the peak rate's for products and the memory bandwidth's for everything else. Inside the
/// measured sizes the band is twice the held-out error, or the least of what is extrapolated where
/// no row was held out; outside it is `kExtrapolated`, and wider.
std::optional<Cost> fitted_cost(const Compute& op, const Calibration& calibration,
                                const Device& device);

}  // namespace plait
