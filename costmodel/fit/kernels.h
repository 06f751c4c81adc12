#pragma once
// Fits the kernel classes of a file of measurements.

#include "costmodel/fit/calibrate.h"

namespace plait {

/// Adds the classes to `result`. Times are processor times: on a busy machine wall times are those
/// of the others. `gpu`: that the rows were measured on, or null.
void fit_kernels(const std::vector<Row>& rows, const Device* gpu, CalibrationResult& result);

}  // namespace plait
