#pragma once
// Piecewise tables of messages and copies. Every third size between the smallest and the largest is
// left out of the table and judges it.

#include "costmodel/fit/calibrate.h"

namespace plait {

/// Adds transports, `combine` and `copy` to `result`, as far as there are rows of them.
void fit_tables(const std::vector<Row>& rows, CalibrationResult& result);

}  // namespace plait
