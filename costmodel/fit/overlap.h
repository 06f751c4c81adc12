#pragma once
// What compute and communication at the same time cost one another. A kernel that takes t on M
// multiprocessors takes M / (M - h) t beside a collective of NCCL's that holds h of them:
//   given    products of a collective's rows: t_i alone, u_i beside it
//   find     h >= 0 that minimises  sum_i log(M t_i / (M - h) / u_i)^2
// Kernels that memory limits are not fitted and judge how far the same h does for them.

#include "costmodel/fit/calibrate.h"

namespace plait {

/// Adds `held_multiprocessors` to `result`, and how well the cost model's form does: for NCCL's
/// collectives with what is fitted; for everything else nothing slows down, nor does communication
/// beside compute. Rows that were not covered are left out with a warning.
void fit_overlap(const std::vector<Row>& rows, CalibrationResult& result);

}  // namespace plait
