#pragma once
// Fits the kernel classes of a file of measurements.

#include "costmodel/fit/calibrate.h"

namespace plait {

/// Adds the classes to `result`. Times are processor times: on a busy machine wall times are those
/// of the others.
void fit_kernels(const std::vector<Row>& rows, CalibrationResult& result);

}  // namespace plait
